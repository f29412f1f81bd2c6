import type { Command } from 'commander'
import { examples, lazily } from './define.ts'

/** Defines `import` and `upload`. */
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
}

const base = [
  '--base <model>',
  'for a LoRA, the model of the catalog that it changes; by default the one that its files name',
] as const
const name = ['--name <name>', 'name of the model; by default that of the repository or file'] as const
