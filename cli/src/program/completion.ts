import type { Command } from 'commander'

const names = ['completion', 'complete']

/**
 * Defines `completion`, which prints a script for a shell, and `complete`, which the script asks. Their code
 * loads on demand.
 */
export async function defineCompletion(program: Command, [name = '']: readonly string[]): Promise<void> {
  if (names.includes(name)) {
    const { default: tab } = await import('@bomb.sh/tab/commander')
    tab(program, { completionCommandName: 'completion' })
  } else {
    program
      .command('completion <shell>')
      .description('Print the completion script of bash, zsh, fish or powershell')
  }
}
