import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { chooseThreads, createThreads } from './threads.ts'

const mebibyte = 2 ** 20
const alone = { cores: 8, otherCores: 0, busyEngines: 1 }

test.each([
  ['a token of a tiny model', 1, 2, alone, 1],
  ['a token of a small model', 1, 100, alone, 3],
  ['a token of a large model leaves a core to its caller', 1, 8_000, alone, 7],
  ['four tokens of a small model', 4, 100, alone, 8],
  ['a prompt of a tiny model', 200, 2, alone, 8],
  ['a prompt while others use some cores', 512, 100, { ...alone, otherCores: 2.9 }, 6],
  ['a prompt while others use all cores', 512, 100, { ...alone, otherCores: 40 }, 1],
  ['a prompt beside two other engines', 512, 100, { ...alone, busyEngines: 3, otherCores: 8 }, 2],
  ['a prompt beside more engines than cores', 512, 100, { ...alone, busyEngines: 9 }, 1],
  ['a token on one core', 1, 8_000, { ...alone, cores: 1 }, 1],
])('threads of %s', (_, tokens, size, machine, expected) => {
  expect(chooseThreads(tokens, size * mebibyte, machine)).toBe(expected)
})

test('engines that are busy together share the cores, and one that is idle or gone takes none', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-threads-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const open = (name: string) => {
    mkdirSync(join(folder, name))
    const llama = { maxThreads: 0 }
    return {
      llama,
      ...createThreads(llama, { weightBytes: 500 * mebibyte, stateDirectory: join(folder, name) }),
    }
  }
  writeFileSync(join(folder, 'a-file'), '')
  const [one, other] = [open('one'), open('other')]
  one.prepare(512)
  other.prepare(512)
  expect(other.llama.maxThreads).toBeLessThanOrEqual(Math.max(1, Math.floor(availableParallelism() / 2)))
  const longAgo = Date.now() / 1000 - 10
  utimesSync(join(folder, 'one', 'busy'), longAgo, longAgo)
  rmSync(join(folder, 'other'), { recursive: true })
  const last = open('last')
  last.prepare(512)
  expect(last.llama.maxThreads).toBeGreaterThanOrEqual(1)
})
