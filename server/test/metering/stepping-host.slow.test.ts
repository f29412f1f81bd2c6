import { test } from 'vitest'
import { openSteppingHost } from './stepping-host.ts'

const billOnSteppingHost = openSteppingHost()

const firstSeed = Math.floor(Math.random() * 1_000_000)

test(`each second that is billed by hosts whose clocks step is one that passed (100 from seed ${firstSeed})`, async () => {
  for (let seed = firstSeed; seed < firstSeed + 100; seed += 1) {
    await billOnSteppingHost(seed).catch((error: unknown) => {
      throw new Error(`seed ${seed}`, { cause: error })
    })
  }
}, 600_000)
