import type { Command } from 'commander'
import { deployment, examples, idleMinutes, lazily, wholeNumber } from './define.ts'

/** Defines `sleep`, `wake` and `scale`. */
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
    .addHelpText(
      'after',
      examples(
        'berth scale assistant --idle-minutes 30',
        'berth scale assistant --idle-minutes never',
        'berth scale assistant --min 1 --max 4 --concurrency 8',
      ),
    )
    .action(lazily(async () => (await import('../commands/instances.ts')).scale))
}
