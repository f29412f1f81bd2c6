import { Command } from 'commander'
import { version } from '../../package.json'
import { defineConnectionCommands } from './connection.ts'
import { defineDeploymentCommands } from './deployments.ts'
import { defineInferenceCommands } from './inference.ts'
import { defineOrganizationCommands } from './organization.ts'
import { defineOwnModelCommands } from './own-models.ts'
import { defineSessionCommands } from './session.ts'
import { examples, lazily } from './define.ts'

/** All commands of `berth`. `args` is the command line. */
export async function createProgram(args: readonly string[]): Promise<Command> {
  const program = new Command('berth')
    .description('Deploy open models on your own compute, and call them.')
    .version(version)
    .option('--json', 'print one JSON document')
    .option('--debug', 'add the request id and the stack to errors')
    .configureHelp({ showGlobalOptions: true })
    .addHelpText(
      'after',
      '\nEnvironment:\n' +
        '  BERTH_URL         address of the server\n' +
        '  BERTH_SESSION     a session, as the value of a Cookie header\n' +
        '  BERTH_CONFIG_DIR  folder of the stored session\n' +
        '  BERTH_EMAIL       email of a service member, for connect --service\n' +
        '  BERTH_PASSWORD    its password\n' +
        '  NO_COLOR          any value: no colors',
    )
  program.exitOverride()
  defineSessionCommands(program)
  defineDeploymentCommands(program)
  defineOwnModelCommands(program)
  defineInferenceCommands(program)
  defineConnectionCommands(program)
  defineOrganizationCommands(program)
  defineIntegrationCommands(program)
  await defineCompletion(program, args)
  return program
}

/** Defines `completion`, a script for a shell, and `complete`, which it calls. Their code loads on demand. */
async function defineCompletion(program: Command, [name = '']: readonly string[]): Promise<void> {
  if (['completion', 'complete'].includes(name)) {
    const { default: tab } = await import('@bomb.sh/tab/commander')
    tab(program, { completionCommandName: 'completion' })
  } else {
    program
      .command('completion <shell>')
      .description('Print the completion script of bash, zsh, fish or powershell')
  }
}

/** Defines `mcp`. */
function defineIntegrationCommands(program: Command): void {
  program
    .command('mcp')
    .description('Serve Berth as tools to an agent, by the Model Context Protocol on stdio')
    .option('--read-only', 'only tools that change nothing')
    .addHelpText('after', examples('claude mcp add berth -- berth mcp --read-only'))
    .action(lazily(async () => (await import('../commands/mcp.ts')).serveTools))
}
