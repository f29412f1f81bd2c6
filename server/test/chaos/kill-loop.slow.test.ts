import { expect, test } from 'vitest'
import { runKillLoop } from './kill-loop.ts'

// `npm run test:kill-loop` runs thirty rounds. Linux only: engine processes are found in /proc.
test.skipIf(process.platform !== 'linux')(
  'four kill -9 under load: no acknowledged change is lost, no deployment is stuck, no engine is orphaned',
  { timeout: 600_000 },
  async () => {
    const summary = await runKillLoop({ rounds: 4, seed: 20_260_729 })
    expect(summary.rounds).toBe(4)
    expect(summary.created).toBeGreaterThan(4)
    expect(summary.kills).toMatchObject({ server: 5, postgres: 1 })
  },
)
