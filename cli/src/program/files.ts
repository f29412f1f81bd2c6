import type { Command } from 'commander'
import { examples, lazily } from './define.ts'

/** Defines `apply`, `diff` and `export`. */
export function defineFileCommands(program: Command): void {
  withFile(program.command('apply'))
    .description('Make deployments, models, teams and budgets what a file says')
    .option('--dry-run', 'only show the changes, and end with 2 if there are any')
    .option('-w, --wait', 'wait until the deployments serve requests; replaced ones end only then')
    .addHelpText('after', examples('berth apply -f berth.yaml', 'berth apply -f berth.yaml --prune --wait'))
    .action(lazily(async () => (await import('../commands/apply.ts')).apply))
  withFile(program.command('diff'))
    .description('Show what `apply` would change, and end with 2 if there is something')
    .addHelpText('after', examples('berth diff -f berth.yaml'))
    .action(lazily(async () => (await import('../commands/apply.ts')).diff))
  program
    .command('export')
    .description('Print a file for `apply` of what the server has')
    .option('--name <name>', 'the name in the file, which marks what it makes', 'berth')
    .addHelpText('after', examples('berth export > berth.yaml'))
    .action(lazily(async () => (await import('../commands/apply.ts')).exportFile))
}

function withFile(command: Command): Command {
  return command
    .requiredOption('-f, --file <path>', 'the file, or - for stdin')
    .option('--prune', 'remove what an earlier `apply` of the file made and the file no longer has')
}
