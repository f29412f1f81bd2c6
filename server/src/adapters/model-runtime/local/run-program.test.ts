import { expect, test } from 'vitest'
import { runProgram } from './run-program.ts'

const options = { environment: { PATH: '/usr/bin:/bin' }, timeoutMs: 60_000 }
const run = (script: string, timeoutMs = options.timeoutMs) =>
  runProgram(['sh', '-c', script], { ...options, timeoutMs })

test('a program that ends tells its output, and why it failed', async () => {
  expect(await run('echo out; echo err >&2')).toEqual({ outcome: 'done', stdout: 'out\n', stderr: 'err\n' })
  expect(await run('echo out; echo bad. >&2; exit 3')).toEqual({
    outcome: 'failed',
    how: 'exit',
    reason: 'it ended with exit code 3: bad',
    stdout: 'out\n',
    stderr: 'bad.\n',
  })
})

test('a program that is missing fails, as does one that hangs with a child that holds its output', async () => {
  const missing = await runProgram(['no-such-program'], options)
  expect(missing).toMatchObject({ outcome: 'failed', how: 'missing', reason: 'there is no such program' })
  const hung = await run('trap "" TERM; sleep 600 & wait', 50)
  expect(hung).toMatchObject({ how: 'silent', reason: 'it did not respond within 1 seconds' })
})

test('endless output is cut', async () => {
  const { stdout } = await run('head -c 3000000 /dev/zero')
  expect(stdout.length).toBe(2 ** 20)
})
