import type { Command } from 'commander'
import { collect, deployment, examples, idleMinutes, lazily, wholeNumber } from './define.ts'
import { defineInstanceCommands } from './instances.ts'

/** Defines the commands of the catalog, of deployments and of instances. */
export function defineDeploymentCommands(program: Command): void {
  defineCatalogCommands(program)
  program
    .command('ls')
    .description('List your deployments')
    .argument('[search]', 'part of a name, or the start of an id')
    .option('-a, --all', 'include terminated ones')
    .option('-o, --organization', 'those of your organization that you may see')
    .addHelpText('after', examples('berth ls', 'berth ls chat', 'berth ls --all --json'))
    .action(lazily(async () => (await import('../commands/deployments.ts')).list))
  program
    .command('show')
    .description('Show a deployment')
    .argument(...deployment)
    .addHelpText('after', examples('berth show berth-tiny', 'berth show 0198c1'))
    .action(lazily(async () => (await import('../commands/deployments.ts')).show))
  program
    .command('events')
    .description('Show what happened to a deployment')
    .argument(...deployment)
    .option('-f, --follow', 'show further events until the deployment ends')
    .addHelpText('after', examples('berth events -f berth-tiny'))
    .action(lazily(async () => (await import('../commands/history.ts')).events))
  program
    .command('logs')
    .description('Show the last lines of the engine’s log')
    .argument(...deployment)
    .option('-f, --follow', 'show further lines')
    .option('-n, --tail <lines>', 'number of last lines', wholeNumber)
    .option('--instance <id>', 'only the lines of one instance; `berth show --json` has the ids')
    .addHelpText('after', examples('berth logs berth-tiny -n 20', 'berth logs -f berth-tiny'))
    .action(lazily(async () => (await import('../commands/history.ts')).logs))
  defineInstanceCommands(program)
  program
    .command('share')
    .description('Let all members of your organization, programs too, call a deployment')
    .argument(...deployment)
    .option('--team <name...>', 'only these teams, and the members of --member')
    .option('--member <email...>', 'only these members, and the teams of --team')
    .option('--off', 'end it: only you may call the deployment')
    .addHelpText(
      'after',
      examples(
        'berth share assistant',
        'berth share assistant --team Research',
        'berth share assistant --off',
      ),
    )
    .action(lazily(async () => (await import('../commands/deployments.ts')).share))
  program
    .command('rm')
    .description('Terminate deployments')
    .argument('<deployment...>', deployment[1])
    .addHelpText('after', examples('berth rm berth-tiny', 'berth rm 0198c1 0198c2'))
    .action(lazily(async () => (await import('../commands/deployments.ts')).remove))
}

function defineCatalogCommands(program: Command): void {
  program
    .command('models')
    .description('List the models that you can deploy, or the variants of one')
    .argument('[search]', 'words in the name, family, description or tags, or the name of one model')
    .option('-t, --type <type>', 'LLM, embedding or rerank')
    .addHelpText(
      'after',
      examples(
        'berth models',
        'berth models "qwen coder"',
        'berth models qwen2.5-instruct',
        'berth models --type embedding',
      ),
    )
    .action(lazily(async () => (await import('../commands/models.ts')).listModels))
  withVariant(program.command('plan'))
    .description('Show the instance that a deployment would get, and its price')
    .addHelpText('after', examples('berth plan qwen2.5-instruct', 'berth plan qwen2.5-instruct --size 7B'))
    .action(lazily(async () => (await import('../commands/plan.ts')).planDeployment))
  withVariant(program.command('deploy'))
    .description('Deploy a model')
    .option('-w, --wait', 'show progress until the deployment serves requests')
    .option('--alias <alias>', 'a further name for `model` in requests')
    .option(
      '--alias-order <order>',
      'its place among the deployments with the alias; the lowest that can serve gets requests',
      wholeNumber,
    )
    .option('--share', 'let all members of your organization, programs too, call it')
    .option('--max-instances <instances>', 'the most instances that it may have under load', wholeNumber)
    .option('--idle-minutes <minutes>', 'sleep after so many minutes without requests, or never', idleMinutes)
    .addHelpText(
      'after',
      examples(
        'berth deploy berth-tiny --wait',
        'berth deploy qwen2.5-instruct --size 7B --alias assistant --idle-minutes 30',
        'berth deploy qwen2.5-instruct --size 0.5B --alias assistant --alias-order 2',
      ),
    )
    .action(lazily(async () => (await import('../commands/deploy.ts')).deploy))
}

function withVariant(command: Command): Command {
  return command
    .argument('<model>', 'name of a model; `berth models` lists them')
    .option('--format <format>', 'format of the weights')
    .option('--size <billions>', 'parameters in billions, such as 7 or 0.5B')
    .option('--quantization <quantization>', 'quantization of the weights')
    .option('--min-context <tokens>', 'the longest request that it must serve', wholeNumber)
    .option('--min-parallel <requests>', 'requests that it must serve at the same time', wholeNumber)
    .option('--instance-type <name>', 'the only instance type that may serve it; `berth plan` lists them')
    .option(
      '--engine-option <name=value>',
      'an option of the engine, for admins; repeat it for several',
      collect,
    )
}
