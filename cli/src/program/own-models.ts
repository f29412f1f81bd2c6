import type { Command } from 'commander'
import { examples, lazily } from './define.ts'

/** Defines `import`, `upload` and `endpoints`. */
export function defineOwnModelCommands(program: Command): void {
  program
    .command('import')
    .description('Add a model of the Hugging Face Hub to the catalog of your organization')
    .argument('<source>', 'a repository as owner/name, the URL of its page, or the id of an upload')
    .option(...name)
    .option(...base)
    .option('--revision <revision>', 'a branch, a tag or a commit')
    .option('--token-stdin', 'read a token of the Hub from stdin, for gated and private repositories')
    .addHelpText(
      'after',
      examples(
        'berth import Qwen/Qwen3-0.6B-GGUF',
        'berth import acme/private --name assistant --token-stdin < token.txt',
        'berth import acme/polite-lora --base assistant',
      ),
    )
    .action(lazily(async () => (await import('../commands/import.ts')).importModel))
  program
    .command('upload')
    .description('Upload a GGUF file, and add it to the catalog of your organization')
    .argument('<file>', 'path of the file; the same command resumes an upload that broke off')
    .option(...name)
    .option(...base)
    .addHelpText(
      'after',
      examples('berth upload tuned-Q8_0.gguf --name tuned', 'berth upload polite-lora.gguf --base assistant'),
    )
    .action(lazily(async () => (await import('../commands/upload.ts')).upload))
  defineEndpointCommands(program)
}

function defineEndpointCommands(program: Command): void {
  const endpoints = program
    .command('endpoints')
    .description(
      'Show and change the endpoints of your organization: servers with OpenAI’s protocol that already run',
    )
    .addHelpText(
      'after',
      examples('berth endpoints ls', 'berth endpoints add Lab https://llm.example.com/v1'),
    )
    .action(lazily(async () => (await import('../commands/endpoints.ts')).listEndpoints))
  endpoints
    .command('ls')
    .description('List the endpoints')
    .addHelpText('after', examples('berth endpoints ls'))
    .action(lazily(async () => (await import('../commands/endpoints.ts')).listEndpoints))
  endpoints
    .command('add')
    .description('Add an endpoint, and check it')
    .argument('<name>', 'what people call it')
    .argument('<address>', 'its https address, with or without /v1')
    .option('--key-stdin', 'read its key from stdin')
    .option('--header <name>', 'the header that has the key; by default Authorization, with Bearer')
    .option('--model <name...>', 'the models to use; by default all that it lists')
    .option('--input-price <amount>', 'what a million prompt tokens cost there')
    .option('--output-price <amount>', 'what a million generated tokens cost there')
    .addHelpText(
      'after',
      examples('berth endpoints add Lab https://llm.example.com/v1 --key-stdin < key.txt'),
    )
    .action(lazily(async () => (await import('../commands/endpoints.ts')).addEndpoint))
  endpoints
    .command('check')
    .description('Ask an endpoint for its models and for one token')
    .argument('<name>', 'the endpoint')
    .addHelpText('after', examples('berth endpoints check Lab'))
    .action(lazily(async () => (await import('../commands/endpoints.ts')).checkEndpoint))
  endpoints
    .command('rm')
    .description('Delete an endpoint with its key')
    .argument('<name>', 'the endpoint')
    .addHelpText('after', examples('berth endpoints rm Lab'))
    .action(lazily(async () => (await import('../commands/endpoints.ts')).removeEndpoint))
}

const base = [
  '--base <model>',
  'for a LoRA, the model of the catalog that it changes; by default the one that its files name',
] as const
const name = ['--name <name>', 'name of the model; by default that of the repository or file'] as const
