import { Argument, InvalidArgumentError, Option } from 'commander'
import type { Command } from 'commander'
import { examples, lazily, wholeNumber } from './define.ts'

/** In the order of docs/cli.md */
const programs = ['codex', 'claude', 'opencode', 'continue', 'aider', 'open-webui', 'litellm', 'langchain']
const launchable = ['claude', 'codex', 'opencode', 'continue', 'aider', 'open-webui']

/** Defines `connect`, `run` and `launch`. */
export function defineConnectionCommands(program: Command): void {
  program
    .command('connect')
    .description('Serve your models on this machine to programs that only know a key')
    .option('-p, --port <port>', 'port, 0 for any', port, 11435)
    .option('--host <address>', 'address to listen on, for containers; by default loopback')
    .option('--key <key>', 'what programs must send as their API key; random by default')
    .option('--no-key', 'accept programs without a key')
    .option(
      '--service',
      'sign in as a service member, with BERTH_EMAIL and BERTH_PASSWORD or BERTH_PASSWORD_FILE',
    )
    .option(
      '--member-header <name>',
      'pass on this header, with which the program names the person it serves, such as X-OpenWebUI-User-Email',
    )
    .addOption(new Option('--for <program>', 'print the settings of a program').choices(programs))
    .option('--model <model>', 'the model in these settings; by default the first that chats')
    .addHelpText(
      'after',
      examples(
        'berth connect',
        'berth connect --for opencode --model assistant',
        'berth connect --host 172.17.0.1',
        'berth connect --service --no-key',
        'berth connect --service --member-header X-OpenWebUI-User-Email',
      ),
    )
    .action(lazily(async () => (await import('../commands/connect.ts')).connect))
  program
    .command('run')
    .description(
      'Run a program with OPENAI_BASE_URL, ANTHROPIC_BASE_URL and their keys set to such a connection',
    )
    .usage('[options] -- <command...>')
    .argument('<command...>', 'the program and its arguments, after --')
    .addHelpText('after', examples('berth run -- python chat.py', 'berth run -- npx promptfoo eval'))
    .action(lazily(async () => (await import('../commands/run.ts')).run))
  program
    .command('launch')
    .description('Start a program on one of your models, and the model first if it is not running')
    .usage('[options] <program> [-- args...]')
    .addArgument(new Argument('<program>', 'the program, which must be installed').choices(launchable))
    .argument('[args...]', 'its own arguments, after --')
    .option(
      '--model <model>',
      'a model name, an alias or the id of a deployment; by default the first that chats',
    )
    .option('--force', 'start an agent even if its context is too short or the model knows no tools')
    .option('--restore', 'put back settings that a killed launch left replaced, and start nothing')
    .addHelpText(
      'after',
      examples('berth launch claude --model assistant', 'berth launch codex -- --full-auto'),
    )
    .action(lazily(async () => (await import('../commands/launch.ts')).launch))
}

function port(text: string): number {
  const number = wholeNumber(text)
  if (number > 65_535) throw new InvalidArgumentError('A port is at most 65535.')
  return number
}
