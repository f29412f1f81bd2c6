import { Command } from 'commander'
import { version } from '../../package.json'
import { defineConnectionCommands } from './connection.ts'
import { defineDeploymentCommands } from './deployments.ts'
import { defineFileCommands } from './files.ts'
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
  defineHelp(program)
  defineSessionCommands(program)
  defineDeploymentCommands(program)
  defineFileCommands(program)
  defineOwnModelCommands(program)
  defineInferenceCommands(program)
  defineConnectionCommands(program)
  defineOrganizationCommands(program)
  defineIntegrationCommands(program)
  await defineCompletion(program, args)
  return program
}

/** Defines `help`. Commander's own prints everything for an unknown command. */
function defineHelp(program: Command): void {
  program
    .helpCommand(false)
    .command('help')
    .description('Show the commands, or the help of one')
    .argument('[command...]', 'the command')
    .action(async (names: string[]) => {
      let command = program
      for (const [index, name] of names.entries()) {
        const found = command.commands.find((each) => each.name() === name)
        // Fails with a suggestion.
        if (!found) return void (await program.parseAsync(names.slice(0, index + 1), { from: 'user' }))
        command = found
      }
      command.outputHelp()
    })
}

/** Defines `completion`, a script for a shell, and `complete`, which it calls. Their code loads on demand. */
async function defineCompletion(program: Command, args: readonly string[]): Promise<void> {
  const [name = ''] = args
  if (['completion', 'complete'].includes(name)) {
    const { addCompletion } = await import('../commands/completion.ts')
    await addCompletion(program, args, process.env)
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
