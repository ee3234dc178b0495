/*
 * Who may move the cell, and when: clients that command with epochs of one lease, over a link that loses and doubles
 * messages; a stop latch that outlives a crash; a decision that is on disk before its motion; a daemon that crashes and
 * starts again. Written from the safety concept, not from the program. `npm run test:model`
 *
 *   spin -a cell.pml && cc -DSAFETY -o pan pan.c && ./pan          assertions
 *   spin -DLIVE -a cell.pml && cc -o pan pan.c && ./pan -a -f       every stop ends motion, under fairness
 *   spin -DTRACE -nSEED cell.pml                                    action sequences for the real state machine
 *
 * Broken variants that the checker must catch: -DBROKEN_EPOCH (epochs begin anew after a crash), -DBROKEN_ONCE (a doubled
 * command is taken twice), -DBROKEN_LATCH (the latch is forgotten in a crash), -DBROKEN_FRESH (a stale observation is good
 * enough), -DBROKEN_RECORD (motion before the decision is on disk).
 */
#ifdef TRACE
#define IDS 30
#define EPOCHS 30
#define LENGTH 4
#else
#define IDS 2
#define EPOCHS 3
#endif
#define NOBODY 2

mtype = { none, start, go, reset };
/* What the daemon is at. `deciding`: a command was admitted, its decision is on its way to the disk. */
mtype = { down, idle, waiting, deciding, moving_, stopped };

#ifdef TRACE
mtype = { a_acquire, a_begin, a_crash, a_deliver, a_double, a_expire, a_finish, a_freeze, a_full, a_guardian, a_latch_on_disk, a_lose, a_not_recorded, a_recorded, a_restart, a_send_go, a_send_reset, a_send_start, a_stop };
#endif

mtype phase = idle;
byte holder = NOBODY, holderEpoch = 0, lastEpoch = 0;
byte known[2];              /* the epoch that each client believes to hold */
bool latch = false, latchOnDisk = false;
bool moving = false, frozen = false, diskFull = false, recorded = false;
byte nextId = 0, admitted = IDS, admittedEpoch = 0;
bool taken[IDS];            /* ids taken in this life of the daemon */
bool executed[IDS];         /* ids whose motion has begun, ever */
byte issuer[EPOCHS + 1];    /* who first commanded under an epoch */
bool stopWanted = false;    /* a stop was acknowledged, and no person has reset since */
#ifdef TRACE
byte steps = 0, dice = 0;
#define RARELYOR dice == 0 ||
#define RARELY dice == 0 &&  /* trouble now and then, so that sequences also get somewhere */
#else
#define RARELYOR true ||
#define RARELY
#endif

/* One message under way, and a second: loss, doubling and reordering come from what is done to them. */
mtype kind[2];
byte from[2], epoch[2], id[2];

#ifdef TRACE
#define SAY(action, a, b) printf("@ %e %d %d | %e %d %d %d %d\n", action, a, b, phase, latch, holder, moving, latchOnDisk)
#else
#define SAY(action, a, b) skip
#endif

/* Unused places hold zeros, so that states which mean the same are the same. */
inline forget(m) { kind[m] = none; from[m] = 0; epoch[m] = 0; id[m] = 0 }
inline forgetMessages() { forget(0); forget(1) }
inline noHolder() { holder = NOBODY; holderEpoch = 0 }
inline noCommand() { admitted = IDS; recorded = false }

inline engage() { latch = true; moving = false; noCommand() }

inline beginMotion() {
  assert(phase == deciding);                       /* the daemon is up and at this very command */
  assert(!latch);                                  /* no stop is latched */
  assert(!stopWanted);                             /* nor was one acknowledged before a crash */
  assert(!frozen);                                 /* the observation is fresh */
  assert(recorded);                                /* the decision is on disk */
  assert(!executed[admitted]);                     /* no command is executed twice */
  executed[admitted] = true;
  moving = true;
  phase = moving_;
  noCommand()
}

/* What the daemon does with the message in slot s. */
inline handle(s) {
  if
  :: phase == down -> skip
  :: phase != down && (holder == NOBODY || epoch[s] != holderEpoch) -> skip  /* LEASE_DENIED */
  :: phase != down && holder != NOBODY && epoch[s] == holderEpoch ->
     assert(from[s] == holder);                    /* only the holder itself has this epoch */
     if
#ifdef BROKEN_ONCE
     :: false -> skip
#else
     :: taken[id[s]] -> skip                       /* taken before */
#endif
     :: else ->
        taken[id[s]] = true;
        if
        :: issuer[epoch[s]] == NOBODY -> issuer[epoch[s]] = from[s]
        :: else -> assert(issuer[epoch[s]] == from[s])   /* at most one issuer under an epoch, over all lives */
        fi;
        if
        :: kind[s] == start && phase == idle && !latch && !diskFull -> phase = waiting
        :: kind[s] == go && phase == waiting ->
#ifdef BROKEN_FRESH
           admitted = id[s]; recorded = false; phase = deciding
#else
           if
           :: diskFull -> engage(); phase = idle   /* the command itself cannot be recorded */
           :: !diskFull && frozen -> skip          /* refused as stale, a person is asked again */
           :: else -> admitted = id[s]; recorded = false; phase = deciding
           fi
#endif
        :: kind[s] == reset && phase == stopped && latch && !diskFull ->
           latch = false; latchOnDisk = false; stopWanted = false; phase = waiting
        :: kind[s] == reset && phase == idle && latch ->
           latch = false; latchOnDisk = false; stopWanted = false
        :: else -> skip                            /* does not fit the state */
        fi
     fi
  fi
}

active proctype cell() {
  byte c = 0, s = 0;
  known[0] = 0; known[1] = 0;
  forgetMessages();
  for (s : 0 .. EPOCHS) { issuer[s] = NOBODY }
  s = 0;
  do
  /* Clients ------------------------------------------------------------------------------------------------------ */
  :: phase != down && lastEpoch < EPOCHS -> atomic {
       select(c : 0 .. 1);
       if
       :: holder == NOBODY || holder == c -> skip
       :: else -> skip                              /* taken by force */
       fi;
       lastEpoch++; holder = c; holderEpoch = lastEpoch; known[c] = lastEpoch;
       SAY(a_acquire, c, 0);
       c = 0 }
  :: RARELY phase != down && holder != NOBODY -> atomic { noHolder(); SAY(a_expire, 0, 0) }
  :: nextId < IDS && (kind[0] == none || kind[1] == none) -> atomic {
       select(c : 0 .. 1);
       if :: kind[0] == none -> s = 0 :: else -> s = 1 fi;
       from[s] = c; epoch[s] = known[c]; id[s] = nextId; nextId++;
       if
       :: kind[s] = start; SAY(a_send_start, s, c)
       :: kind[s] = go; SAY(a_send_go, s, c)
       :: kind[s] = reset; SAY(a_send_reset, s, c)
       fi;
       c = 0; s = 0 }
#ifdef TRACE
  /* What somebody who knows the cell would send: most sequences get somewhere with it. */
  :: dice != 0 && nextId < IDS && holder != NOBODY && kind[0] == none && phase != down && phase != deciding && phase != moving_ -> atomic {
       from[0] = holder; epoch[0] = holderEpoch; id[0] = nextId; nextId++;
       if
       :: phase == idle && !latch -> kind[0] = start; SAY(a_send_start, 0, holder)
       :: phase == waiting -> kind[0] = go; SAY(a_send_go, 0, holder)
       :: else -> kind[0] = reset; SAY(a_send_reset, 0, holder)
       fi;
       handle(0); forget(0); SAY(a_deliver, 0, 0) }
#endif
  /* The link ------------------------------------------------------------------------------------------------------ */
  :: (kind[0] != none || kind[1] != none) -> atomic {
       if :: kind[0] != none -> s = 0 :: kind[1] != none -> s = 1 fi;
       if
       #ifdef TRACE
       :: dice == 0 -> forget(s); SAY(a_lose, s, 0)
#else
       :: forget(s)
#endif
       :: kind[1 - s] == none ->
          kind[1 - s] = kind[s]; from[1 - s] = from[s]; epoch[1 - s] = epoch[s]; id[1 - s] = id[s];
          SAY(a_double, s, 0)
       :: handle(s); forget(s); SAY(a_deliver, s, 0)
       fi;
       s = 0 }
  /* Stops, from anybody ------------------------------------------------------------------------------------------- */
  :: RARELY phase != down -> atomic {
       engage();
       if :: phase == idle -> skip :: else -> phase = stopped fi;
       SAY(a_stop, 0, 0) }
  :: phase != down && latch && !latchOnDisk && !diskFull -> atomic {
#ifndef BROKEN_LATCH
       latchOnDisk = true;
#endif
       stopWanted = true; SAY(a_latch_on_disk, 0, 0) }
  /* The procedure --------------------------------------------------------------------------------------------------- */
#ifdef BROKEN_RECORD
  :: phase == deciding && !diskFull -> atomic { beginMotion(); SAY(a_begin, 0, 0) }
#endif
  :: phase == deciding && !diskFull -> atomic {
       recorded = true;
#ifdef BROKEN_FRESH
       if :: frozen -> skip :: else -> skip fi;
#endif
       beginMotion(); SAY(a_recorded, 0, 0) }
  :: phase == deciding && diskFull -> atomic { engage(); phase = idle; SAY(a_not_recorded, 0, 0) }
  :: phase == moving_ && !diskFull -> atomic { moving = false; phase = waiting; SAY(a_finish, 0, 0) }
  /* The world ------------------------------------------------------------------------------------------------------ */
  :: (RARELYOR frozen) && phase != deciding -> atomic { frozen = !frozen; SAY(a_freeze, frozen, 0) }
  :: (RARELYOR diskFull) && (phase == idle || phase == waiting || phase == deciding) -> atomic { diskFull = !diskFull; SAY(a_full, diskFull, 0) }
  :: RARELY phase != down -> atomic {
       phase = down; noHolder(); latch = false; noCommand();
       for (s : 0 .. IDS - 1) { taken[s] = false }
       s = 0;
       SAY(a_crash, 0, 0) }
  :: phase == down && !moving -> atomic {
       phase = idle; latch = latchOnDisk;
#ifdef BROKEN_EPOCH
       lastEpoch = 0;
#endif
       SAY(a_restart, 0, 0) }
#ifdef TRACE
  :: true -> atomic { select(dice : 0 .. 7) }
  :: true -> atomic {
       steps++;
       if
       :: steps < LENGTH -> skip
       :: else ->
          steps = 0; phase = idle; noHolder(); noCommand(); lastEpoch = 0; latch = false; latchOnDisk = false;
          moving = false; frozen = false; diskFull = false; nextId = 0;
          stopWanted = false; known[0] = 0; known[1] = 0; forgetMessages();
          for (s : 0 .. IDS - 1) { taken[s] = false; executed[s] = false }
          for (s : 0 .. EPOCHS) { issuer[s] = NOBODY }
          s = 0;
          printf("@ begin\n")
       fi }
#endif
  od
}

/* Outlives the daemon, and ends what it left moving. */
active proctype guardian() {
  do
  :: atomic { phase == down && moving -> moving = false; SAY(a_guardian, 0, 0) }
  od
}

#ifdef LIVE
/* A stop ends motion and it stays ended until a person resets; a dead daemon's motion is ended by the guardian. */
ltl stops { [] ((latch || phase == down) -> <> !moving) }
#endif
