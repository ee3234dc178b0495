#include "trigger_queue.h"

#include <gtest/gtest.h>

using surgiclaw::grabber::TriggerQueue;

TEST(TriggerQueue, framesAnswerTriggersInOrder) {
  TriggerQueue triggers;
  EXPECT_EQ(triggers.answered(50), 0U) << "a frame that nobody asked for";
  EXPECT_EQ(triggers.fired(100), 1U);
  EXPECT_EQ(triggers.fired(200), 2U);
  EXPECT_EQ(triggers.waitingNs(350), 250U);
  EXPECT_EQ(triggers.answered(400), 1U);
  EXPECT_EQ(triggers.answered(500), 2U);
  EXPECT_EQ(triggers.waitingNs(600), 0U);
}

TEST(TriggerQueue, aLostFrameTakesItsTriggerWithIt) {
  TriggerQueue triggers;
  triggers.fired(1);
  triggers.fired(2);
  triggers.fired(3);
  triggers.lost(2);
  EXPECT_EQ(triggers.answered(4), 3U);
  EXPECT_EQ(triggers.unanswered(), 2U);
}

TEST(TriggerQueue, aTriggerThatIsTooOldDoesNotShiftTheOthers) {
  TriggerQueue triggers;
  triggers.setPatience(1000);
  triggers.fired(0);
  EXPECT_EQ(triggers.fired(2000), 2U);
  EXPECT_EQ(triggers.answered(2500), 2U);
  EXPECT_EQ(triggers.unanswered(), 1U);
}

TEST(TriggerQueue, aRefusedTriggerIsForgotten) {
  TriggerQueue triggers;
  triggers.refused(triggers.fired(0));
  EXPECT_EQ(triggers.answered(1), 0U);
  EXPECT_EQ(triggers.unanswered(), 0U);
}
