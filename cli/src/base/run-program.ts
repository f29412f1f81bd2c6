import { spawn } from 'node:child_process'
import { accessSync, constants as modes, statSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, join } from 'node:path'
import { CommandError, exitCodes, messageOf } from './errors.ts'

/** Signals that other programs send to this one for the program that it runs */
const passedOn = ['SIGTERM', 'SIGHUP', 'SIGUSR2'] as const

/** Throws unless a program is in PATH. `advice` says how to install it. */
export function requireProgram(command: string, { PATH = '' }: NodeJS.ProcessEnv, advice: string): void {
  // There, a name stands for files with several extensions.
  if (process.platform === 'win32') return
  if (!PATH.split(delimiter).some((folder) => isProgram(join(folder, command))))
    throw notFound(command, advice)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, modes.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

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
    child.once('error', (error) => reject(describeFailure(command, error)))
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal!]))
  })
}

function describeFailure(command: string, error: NodeJS.ErrnoException): CommandError {
  if (error.code === 'ENOENT') return notFound(command, '')
  const message = `${command} can't be started: ${messageOf(error)}.`
  return new CommandError(message, error.code === 'EACCES' ? exitCodes.notExecutable : exitCodes.failure)
}

function notFound(command: string, advice: string): CommandError {
  const message = `${command} is not installed, or its folder is not in PATH. ${advice}`
  return new CommandError(message.trim(), exitCodes.noProgram)
}
