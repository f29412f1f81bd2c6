import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { examples, lazily, wholeNumber } from './define.ts'

const model = ['<model>', 'a model name, an alias or the id of a deployment'] as const

/** Defines `chat` and `embed`. */
export function defineInferenceCommands(program: Command): void {
  program
    .command('chat')
    .description('Chat with a running model')
    .argument(...model)
    .argument('[prompt]', 'one prompt, followed by what is piped in; without both, a conversation')
    .option('-s, --system <text>', 'system prompt')
    .option('--temperature <number>', 'randomness of the answer', decimal)
    .option('--max-tokens <tokens>', 'limit of the answer', wholeNumber)
    .addHelpText(
      'after',
      examples(
        'berth chat berth-tiny',
        'berth chat berth-tiny "Tell me about harbors."',
        'git diff | berth chat assistant "Write a commit message."',
      ),
    )
    .action(lazily(async () => (await import('../commands/chat.ts')).chat))
  program
    .command('embed')
    .description('Print the embedding of a text, or of each line')
    .argument(...model)
    .argument('[text]', 'the text; by default what is piped in')
    .option('-l, --lines', 'each line is a text')
    .addHelpText(
      'after',
      examples(
        'berth embed berth-tiny-embedding "a ship"',
        'berth embed berth-tiny-embedding --lines < texts.txt',
      ),
    )
    .action(lazily(async () => (await import('../commands/embed.ts')).embed))
}

function decimal(text: string): number {
  if (!/^\d+(\.\d+)?$/.test(text)) throw new InvalidArgumentError('It must be a number.')
  return Number(text)
}
