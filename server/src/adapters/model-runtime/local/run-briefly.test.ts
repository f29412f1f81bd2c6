import { expect, test } from 'vitest'
import { runBriefly } from './run-briefly.ts'

const options = { environment: { PATH: '/usr/bin:/bin' }, deadlineMs: 60_000 }

test('a program that ends tells its output and its code', async () => {
  const run = await runBriefly('sh', ['-c', 'echo out; echo err >&2; exit 3'], options)
  expect(run).toEqual({ stdout: 'out\n', stderr: 'err\n', code: 3 })
})

test('a program that is missing, or hangs with a child that holds its output, is null', async () => {
  expect(await runBriefly('no-such-program', [], options)).toBeNull()
  const hung = await runBriefly('sh', ['-c', 'trap "" TERM; sleep 600 & wait'], {
    ...options,
    deadlineMs: 50,
  })
  expect(hung).toBeNull()
})

test('endless output is cut', async () => {
  const run = await runBriefly('sh', ['-c', 'head -c 3000000 /dev/zero'], options)
  expect(run?.stdout.length).toBe(2 ** 20)
})
