import { randomInt } from 'node:crypto'
import { expect, test } from 'vitest'
import { compareHistories } from '../chaos/instances/compare.ts'
import { playHistory, removeUnacknowledged } from '../chaos/instances/history.ts'
import type { Actor } from '../chaos/instances/owner.ts'
import { killAndRestart, openWorld, resetClock, stepClock } from '../chaos/instances/world.ts'
import type { World } from '../chaos/instances/world.ts'
import { createRandom, pickFrom } from '../chaos/load.ts'

/**
 * `npm run test:instances` runs 1,000 histories; `npm test` runs none, because even few take half a minute.
 */
const histories = Number(process.env['INSTANCE_HISTORIES'] ?? 0)
const firstSeed = Number(process.env['INSTANCE_SEED'] ?? randomInt(2 ** 31))
const factor = Number(process.env['INSTANCE_PACE'] ?? 2)
/** So many owners share the hardware and the processes at the same time. */
const together = 10
const stepsPerHistory = 14
/** How long deployments may take to end, by the clock */
const settleMilliseconds = 60_000
/** Hardware for so many engines, of about 20 that the owners want */
const places = 12
/** Two seconds in fast time: how long a step of a worker may take on a busy machine */
const delay = 2_000 * factor

/**
 * Kills processes, refuses hardware and sets clocks until the signal aborts. Returns the most by which a
 * clock was wrong.
 */
async function disturb(world: World, random: () => number, signal: AbortSignal): Promise<number> {
  const setsClocks = random() < 0.3
  let mostWrong = 0
  while (!signal.aborted) {
    await world.pass(random() * 25_000)
    const choice = random()
    const member = pickFrom(random, world.members)!
    if (signal.aborted) break
    if (choice < 0.5) await killAndRestart(world, member)
    else if (choice < 0.75) {
      world.hardware.isFull = true
      await world.pass(random() * 8_000)
      world.hardware.isFull = false
    } else if (setsClocks) {
      const step = Math.round((random() - 0.5) * 20_000)
      stepClock(member, step)
      mostWrong = Math.max(mostWrong, Math.abs(member.clockStep))
    }
  }
  return mostWrong
}

/**
 * Waits until every deployment has ended, also those that nobody acknowledged. Returns a sentence for each
 * that goes on.
 */
async function settle(world: World, played: readonly Actor[]): Promise<string[]> {
  const owners = new Map(played.map((actor) => [actor.organizationId, actor]))
  const deadline = Date.now() + settleMilliseconds
  for (;;) {
    const live = await world.db
      .selectFrom('deployments')
      .select(['id', 'status', 'organization_id'])
      .where('organization_id', 'in', [...owners.keys()])
      .where('status', '<>', 'terminated')
      .execute()
    if (live.length === 0) return []
    if (Date.now() > deadline) return live.map(({ id, status }) => `${id} is still ${status}`)
    for (const { id, organization_id: owner } of live) await removeUnacknowledged(owners.get(owner)!, id)
    await world.pass(1_000)
  }
}

/** Owners who act at the same time. `seed` decides what happens to the hardware and the processes. */
async function playTogether(world: World, seeds: readonly number[]): Promise<string[]> {
  const ending = new AbortController()
  const disturbing = disturb(world, createRandom(seeds[0]! ^ 0x5eed), ending.signal)
  const played = await Promise.all(
    seeds.map((seed) => playHistory(world, seed, createRandom(seed), stepsPerHistory)),
  ).finally(() => ending.abort())
  const clock = await disturbing
  const live = await settle(world, played)
  for (const member of world.members) resetClock(member)
  const workers = world.members.filter(({ role }) => role === 'worker')
  const disturbances = { clock, delay, workerKills: workers.flatMap(({ kills }) => kills) }
  const failures = played.flatMap(({ seed, failures: own }) => own.map((each) => `seed ${seed}: ${each}`))
  let differences: string[] = []
  // Tokens are recorded a moment later.
  for (let tries = 0; tries < 50; tries += 1) {
    differences = await compareHistories(world, played, disturbances)
    if (differences.length === 0) break
    await world.pass(1_000)
  }
  return [...failures, ...live, ...differences]
}

test.runIf(histories > 0)(
  `random histories of instances match what their hardware and their callers saw (from seed ${firstSeed})`,
  { timeout: 120_000 + histories * 20_000 },
  async () => {
    await using cleanup = new AsyncDisposableStack()
    const world = await openWorld({ factor, places, random: createRandom(firstSeed) }, cleanup)
    for (let seed = firstSeed; seed < firstSeed + histories; seed += together) {
      const count = Math.min(together, firstSeed + histories - seed)
      const seeds = Array.from({ length: count }, (_, index) => seed + index)
      const differences = await playTogether(world, seeds)
      expect(
        differences,
        `INSTANCE_SEED=${seed} INSTANCE_HISTORIES=${count} repeats these histories`,
      ).toEqual([])
    }
  },
)
