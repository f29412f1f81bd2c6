import type { Command } from 'commander'
import { examples, lazily } from './define.ts'

/** Defines `mcp`. */
export function defineIntegrationCommands(program: Command): void {
  program
    .command('mcp')
    .description('Serve Berth as tools to an agent, by the Model Context Protocol on stdio')
    .option('--read-only', 'only tools that change nothing')
    .addHelpText('after', examples('claude mcp add berth -- berth mcp --read-only'))
    .action(lazily(async () => (await import('../commands/mcp.ts')).serveTools))
}
