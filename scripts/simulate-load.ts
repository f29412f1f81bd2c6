// Prints what a day's requests cost, and how long they wait, with Berth's rule for the number of instances,
// with the default rules of others, and with instances that are always on. The clock is simulated; the rule
// is Berth's own.
import { generateArrivals } from './load-arrivals.ts'
import { compareRules, findWait, promisedWaitSeconds } from './compare-scaling.ts'

const day = { milliseconds: 86_400_000, peakRate: 12, seed: 1 }
const arrivals = generateArrivals(day)
const results = compareRules(arrivals)
const alwaysOn = results.at(-1)!.gpuSeconds

process.stdout.write(
  `${arrivals.length} requests in a day, ${day.peakRate} per second in the busiest hour. Promised: 99 % wait at most ${promisedWaitSeconds} s.\n`,
)
const columns = ['rule', 'GPU-seconds', 'share', 'p50 wait', 'p99 wait', 'refused', 'instances']
const rows = results.map(({ name, gpuSeconds, waits, refused, mostInstances }) => [
  name,
  gpuSeconds.toFixed(0),
  (gpuSeconds / alwaysOn).toFixed(2),
  `${findWait(waits, 0.5).toFixed(1)} s`,
  `${findWait(waits, 0.99).toFixed(1)} s`,
  String(refused),
  `at most ${mostInstances}`,
])
for (const row of [columns, ...rows]) {
  process.stdout.write(
    `${row.map((cell, index) => (index === 0 ? cell.padEnd(15) : cell.padStart(12))).join('')}\n`,
  )
}
