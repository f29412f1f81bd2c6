// Prints how long members of one organization wait for a shared deployment while one of them floods it: with
// turns, and first come, first served. The clock is simulated; the admission is Berth's own.
import { simulateTurns } from './turn-simulation.ts'
import type { SimulatedMember } from './turn-simulation.ts'

const sequences = 8
const person: SimulatedMember = {
  parallel: 1,
  pause: 5_000,
  requests: 20,
  promptTokens: 800,
  outputTokens: 200,
}
const flood: SimulatedMember = {
  parallel: 500,
  pause: 0,
  requests: 500,
  promptTokens: 400,
  outputTokens: 300,
}
const members = [flood, person, person, person, person]

process.stdout.write(
  `${sequences} sequences; member 0 sends ${flood.requests} requests at once, members 1 to 4 chat. Seconds in the queue:\n`,
)
for (const policy of ['turns', 'first come, first served'] as const) {
  const sent = await simulateTurns(policy, sequences, members)
  for (const userId of members.keys()) {
    const waits = sent
      .filter((request) => request.userId === userId)
      .map(({ waited }) => waited / 1000)
      .toSorted((one, other) => one - other)
    const at = (share: number) =>
      waits[Math.min(waits.length - 1, Math.floor(waits.length * share))]!.toFixed(1)
    const columns = [
      policy.padEnd(25),
      `member ${userId}`,
      `median ${at(0.5)}`,
      `95 % ${at(0.95)}`,
      `longest ${at(1)}`,
    ]
    process.stdout.write(`${columns.join('  ')}\n`)
  }
}
