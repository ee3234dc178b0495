"""Writes hand-eye-opencv.json: poses with noise of known size, and what OpenCV's solvers make of them.

python3 hand-eye-opencv.py > hand-eye-opencv.json, with opencv-python-headless 4 and NumPy.
"""
import json

import cv2
import numpy as np


def matrix(vector, translation):
    m = np.eye(4)
    m[:3, :3] = cv2.Rodrigues(np.array(vector, float))[0]
    m[:3, 3] = translation
    return m


def six(m):
    return [*cv2.Rodrigues(m[:3, :3])[0].ravel().tolist(), *m[:3, 3].tolist()]


rng = np.random.default_rng(5)
x = matrix([0.012, -0.021, 0.008], [0.0013, -0.0009, 0.2017])
w = matrix([1.9, -0.6, 0.3], [-0.41, -0.252, 0.098])
turns = [[0, 0, 0], [0.15, 0, 0.12], [0, 0.15, 0.24], [-0.15, 0, 0.12], [0, -0.15, -0.12], [0.08, -0.08, -0.24],
         [0, 0.15, -0.12], [-0.1, 0.08, 0]]
home = matrix([2.2, -2.2, 0.05], [0, 0, 0])
poses = []
for turn in turns:
    a = home @ matrix(turn, [0, 0, 0])
    # The flange where it must be for the head's origin to lie near the microscopes' origin.
    a[:3, 3] = w[:3, 3] - a[:3, :3] @ x[:3, 3] + rng.uniform(-2e-4, 2e-4, 3)
    b = np.linalg.inv(w) @ a @ x
    b = b @ matrix(rng.normal(0, 4e-4, 3), [0, 0, 0])
    b[:3, 3] += rng.normal(0, 3.3e-5, 3)
    poses.append({"a": six(a), "b": six(b)})

a = [matrix(p["a"][:3], p["a"][3:]) for p in poses]
b = [matrix(p["b"][:3], p["b"][3:]) for p in poses]
# OpenCV's names are of a camera on the gripper; with fixed cameras the roles of the chains are exchanged: it solves
# inverse(A_j) A_i X = X inverse(B_j) B_i for gripper2base = A, target2cam = inverse(B).
inverse = [np.linalg.inv(m) for m in b]
results = {}
for name, method in {"tsai": cv2.CALIB_HAND_EYE_TSAI, "park": cv2.CALIB_HAND_EYE_PARK,
                     "horaud": cv2.CALIB_HAND_EYE_HORAUD, "daniilidis": cv2.CALIB_HAND_EYE_DANIILIDIS}.items():
    r, t = cv2.calibrateHandEye([m[:3, :3] for m in a], [m[:3, 3] for m in a],
                                [m[:3, :3] for m in inverse], [m[:3, 3] for m in inverse], method=method)
    results[name] = [*cv2.Rodrigues(r)[0].ravel().tolist(), *t.ravel().tolist()]
# A X = W B as it stands: what OpenCV calls camera, world, gripper and base are base, flange, microscopes and head here.
both = {}
for name, method in {"shah": cv2.CALIB_ROBOT_WORLD_HAND_EYE_SHAH, "li": cv2.CALIB_ROBOT_WORLD_HAND_EYE_LI}.items():
    rx, tx, rw, tw = cv2.calibrateRobotWorldHandEye([m[:3, :3] for m in a], [m[:3, 3] for m in a],
                                                    [m[:3, :3] for m in b], [m[:3, 3] for m in b], method=method)
    both[name] = {"x": [*cv2.Rodrigues(rx)[0].ravel().tolist(), *tx.ravel().tolist()],
                  "w": [*cv2.Rodrigues(rw)[0].ravel().tolist(), *tw.ravel().tolist()]}
print(json.dumps({"opencv": cv2.__version__, "x": six(x), "w": six(w), "poses": poses,
                  "flangeFromHead": results, "both": both},
                 indent=1))
