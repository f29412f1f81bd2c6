import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { CommandError, messageOf } from './errors.ts'

/** Signals that other programs send to this one for the program that it runs */
const passedOn = ['SIGTERM', 'SIGHUP', 'SIGUSR2'] as const

/** Runs a program in the terminal, and returns its exit code, or 128 plus the signal that ended it. */
export async function runProgram(
  [command, ...args]: readonly [string, ...string[]],
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const child = spawn(command, args, { stdio: 'inherit', env })
  // A terminal sends Ctrl-C to both, and the program decides what it means.
  process.removeAllListeners('SIGINT')
  process.on('SIGINT', () => {})
  for (const signal of passedOn) process.on(signal, () => child.kill(signal))
  return new Promise((resolve, reject) => {
    child.once('error', (error) =>
      reject(new CommandError(`${command} can't be started: ${messageOf(error)}`)),
    )
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal!]))
  })
}
