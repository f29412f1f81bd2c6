import { spawn } from '@lydell/node-pty'
import { vi } from 'vitest'
import { node, program } from './command.ts'
import type { Shell } from './command.ts'

/** A program in a pseudo-terminal. */
export interface Terminal {
  /** Waits until the screen has shown a text, from the last one awaited on */
  see(text: string): Promise<void>
  type(text: string): void
  output(): string
  /** Resolves to the exit code */
  exited: Promise<number>
}

/** Runs `berth` in a pseudo-terminal. */
export function openTerminal(shell: Shell, args: readonly string[], columns = 80): Terminal {
  const process = spawn(node, [program, ...args], {
    cols: columns,
    rows: 24,
    env: { ...shell.env, TERM: 'xterm' },
  })
  let output = ''
  let seen = 0
  process.onData((text) => (output += text))
  const exited = new Promise<number>((resolve) => process.onExit(({ exitCode }) => resolve(exitCode)))
  return {
    exited,
    type: (text) => process.write(text),
    output: () => output,
    see: (text) =>
      vi.waitFor(
        () => {
          const at = output.indexOf(text, seen)
          if (at === -1) throw new Error(`The terminal does not show “${text}”, but: ${output.slice(seen)}`)
          seen = at + text.length
        },
        { timeout: 20_000, interval: 20 },
      ),
  }
}
