import { Option } from 'commander'
import type { Command } from 'commander'
import { collect, deployment, examples, idleMinutes, lazily, wholeNumber } from './define.ts'

/** Defines `sleep`, `wake`, `scale`, `adapters` and `engine`. */
export function defineInstanceCommands(program: Command): void {
  program
    .command('sleep')
    .description('Put a deployment to sleep: it costs nothing until a request or `berth wake` wakes it')
    .argument(...deployment)
    .option('-w, --wait', 'wait until its hardware is released')
    .addHelpText('after', examples('berth sleep assistant', 'berth sleep assistant --wait'))
    .action(lazily(async () => (await import('../commands/instances.ts')).sleep))
  program
    .command('wake')
    .description('Wake a sleeping deployment')
    .argument(...deployment)
    .option('-w, --wait', 'show progress until it serves requests')
    .addHelpText('after', examples('berth wake assistant --wait'))
    .action(lazily(async () => (await import('../commands/instances.ts')).wake))
  program
    .command('scale')
    .description('Change how many instances a deployment has, and when it sleeps')
    .argument(...deployment)
    .option('--min <instances>', 'how many to keep while it is awake', wholeNumber)
    .option('--max <instances>', 'the most that it may have under load; the limit counts them', wholeNumber)
    .option('--concurrency <requests>', 'requests in flight per instance to aim for', wholeNumber)
    .option('--idle-minutes <minutes>', 'sleep after so many minutes without requests, or never', idleMinutes)
    .option(
      '--schedule <schedule>',
      'hours or a cron pattern, a time zone and how many to keep awake; repeat it for several, which replace those there are, or none',
      collect,
    )
    .option('--yields', 'let it fall asleep early when another deployment needs its hardware')
    .option('--no-yields', 'keep its hardware')
    .addOption(
      new Option('--cache-scope <scope>', 'whose requests share cached prompts').choices([
        'member',
        'organization',
      ]),
    )
    .addHelpText(
      'after',
      examples(
        'berth scale assistant --idle-minutes 30',
        'berth scale assistant --idle-minutes never',
        'berth scale assistant --min 1 --max 4 --concurrency 8',
        "berth scale assistant --schedule 'weekdays 08:00-18:00 Europe/Berlin 2'",
        "berth scale assistant --schedule '0 7 1 * * UTC 4' --schedule '0 19 1 * * UTC 0'",
        'berth scale assistant --schedule none --yields',
      ),
    )
    .action(lazily(async () => (await import('../commands/instances.ts')).scale))
  program
    .command('adapters')
    .description('List or set the LoRAs (low-rank adapters) that a deployment serves besides its model')
    .argument(...deployment)
    .argument('[lora...]', 'names of LoRAs, which replace those there are, or none')
    .addHelpText(
      'after',
      examples(
        'berth adapters assistant',
        'berth adapters assistant polite terse',
        'berth adapters assistant none',
      ),
    )
    .action(lazily(async () => (await import('../commands/adapters.ts')).adapters))
  program
    .command('engine')
    .description('Show the engine of a deployment, set its options, or update it')
    .argument(...deployment)
    .argument('[name=value...]', 'options, which replace those there are, or none')
    .option('--update [version]', 'move to the newest version, or to this one, without a gap')
    .addHelpText(
      'after',
      examples(
        'berth engine assistant',
        'berth engine assistant kv-cache-dtype=fp8 enforce-eager=true',
        'berth engine assistant none',
        'berth engine assistant --update',
      ),
    )
    .action(lazily(async () => (await import('../commands/engine.ts')).engine))
}
