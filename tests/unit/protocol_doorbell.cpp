// SPDX-License-Identifier: MIT

/// @file
/// @brief Doorbell back ends: the EventIdx rule against its definition, and what is stored where.

#include <xio/device/core/doorbell.hpp>

#include "catch.hpp"

using xio::DoorbellTarget;
using xio::MmioDoorbell;
using xio::ShadowDoorbell;

TEST_CASE("a device that sleeps at an index is woken by every step past it", "[H34]") {
  for (const uint32_t size : {2u, 3u, 8u, 64u}) {
    for (uint32_t before = 0; before < size; ++before) {
      for (uint32_t steps = 1; steps < size; ++steps) {
        const uint32_t after = (before + steps) % size;
        for (uint32_t event = 0; event < size; ++event) {
          // The device has taken everything up to `event` and sleeps: entries event .. after - 1 are news to it.
          const bool passes = (event + size - before) % size < steps;
          if (passes && !ShadowDoorbell::must_kick(event, before, after)) {
            CAPTURE(size, before, after, event);
            FAIL("this step would not wake the device");
          }
        }
      }
    }
  }
}

TEST_CASE("a device that is ahead in its looks is left alone", "[H34]") {
  // 16-bit indices without a wrap: the event index lies behind what was announced before.
  for (uint32_t before = 100; before < 200; ++before) {
    for (uint32_t event = 50; event < before; ++event) {
      if (ShadowDoorbell::must_kick(event, before, before + 1))
        FAIL("a step that needs no kick: " << before << " " << event);
    }
  }
}

TEST_CASE("the shadow is stored each time, the register only where the device asks for it", "[H34]") {
  uint32_t word = 77;
  uint32_t shadow = 0;
  uint32_t event = 0;
  const DoorbellTarget target{&word, &shadow, &event};
  ShadowDoorbell::ring(target, 3);
  CHECK(shadow == 3);
  CHECK(word == 3);
  // The device reads the shadow on its own as long as the event index stays behind.
  ShadowDoorbell::ring(target, 5);
  CHECK(shadow == 5);
  CHECK(word == 3);
  event = 5;
  ShadowDoorbell::ring_each(target, 6);
  CHECK(shadow == 6);
  CHECK(word == 6);
}

TEST_CASE("A mapped doorbell is one store of the value") {
  uint32_t word = 0;
  MmioDoorbell::ring({&word, nullptr, nullptr}, 9);
  CHECK(word == 9);
  MmioDoorbell::ring_each({&word, nullptr, nullptr}, 10);
  CHECK(word == 10);
}
