import { InvalidArgumentError, Option } from 'commander'
import type { Command } from 'commander'
import { examples, lazily, wholeNumber } from './define.ts'

const programs = ['codex', 'claude', 'opencode', 'continue', 'aider', 'open-webui', 'litellm', 'langchain']

/** Defines `connect` and `run`. */
export function defineConnectionCommands(program: Command): void {
  program
    .command('connect')
    .description('Serve your models on this machine to programs that only know a key')
    .option('-p, --port <port>', 'port on loopback, 0 for any', port, 11435)
    .option('--key <key>', 'what programs must send as their API key; random by default')
    .option('--no-key', 'accept programs without a key')
    .addOption(new Option('--for <program>', 'print the settings of a program').choices(programs))
    .option('--model <model>', 'the model in these settings; by default the first that chats')
    .addHelpText('after', examples('berth connect', 'berth connect --for opencode --model assistant'))
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
}

function port(text: string): number {
  const number = wholeNumber(text)
  if (number > 65_535) throw new InvalidArgumentError('A port is at most 65535.')
  return number
}
