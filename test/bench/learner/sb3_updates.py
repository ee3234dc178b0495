"""Updates of stable-baselines3's SAC on random transitions: reads "WIDTH BATCH UPDATES" lines, answers CPU seconds.

One thread. The same network, batch and observation as the bench beside it; everything else as the library sets it, but the
published discount, target rate and rate of learning, and AdamW.
"""
import sys
import time

import gymnasium
import numpy as np
import torch
from stable_baselines3 import SAC

OBSERVATION, ACTION = int(sys.argv[1]), int(sys.argv[2])
torch.set_num_threads(1)


class Nothing(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (OBSERVATION,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (ACTION,), np.float32)

    def reset(self, *, seed=None, options=None):
        return np.zeros(OBSERVATION, np.float32), {}

    def step(self, action):
        return np.zeros(OBSERVATION, np.float32), 0.0, False, False, {}


def make(width, batch):
    model = SAC(
        "MlpPolicy",
        Nothing(),
        learning_rate=3e-4,
        batch_size=batch,
        tau=0.01,
        gamma=0.8,
        buffer_size=20_000,
        policy_kwargs={"net_arch": [width, width], "optimizer_class": torch.optim.AdamW},
        device="cpu",
        seed=1,
    )
    model.learn(1)  # sets the logger up
    random = np.random.default_rng(1)
    for _ in range(10_000):
        model.replay_buffer.add(
            random.standard_normal((1, OBSERVATION)).astype(np.float32),
            random.standard_normal((1, OBSERVATION)).astype(np.float32),
            random.uniform(-1, 1, (1, ACTION)).astype(np.float32),
            random.uniform(size=1).astype(np.float32),
            np.zeros(1, bool),
            [{}],
        )
    return model


models = {}
print(f"torch {torch.__version__}, {torch.get_num_threads()} thread", flush=True)
for line in sys.stdin:
    width, batch, updates = map(int, line.split())
    if (width, batch) not in models:
        models[(width, batch)] = make(width, batch)
    began = time.process_time()
    models[(width, batch)].train(gradient_steps=updates, batch_size=batch)
    print(time.process_time() - began, flush=True)
