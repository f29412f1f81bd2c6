import type { Command } from 'commander'
import type { EngineChange, HostEngine, HostReport } from '../../ports/host-engines.ts'
import type { Shell } from './shell.ts'

/** Adds the commands that list, install and remove the engines of this host. */
export function addEngineCommands(program: Command, shell: Shell): void {
  const engines = program
    .command('engines')
    .description('See, install and remove the inference engines of this host')
  engines
    .command('list')
    .description('list the engines and GPUs, and why an engine is used or not')
    .action(() =>
      shell.withHostEngines(async (host) => {
        for (const line of describeReport(await host.report())) shell.print(line)
      }),
    )
  engines
    .command('install <engine>')
    .description(
      'install vllm, llama.cpp, cuda (the libraries for Berth’s engine) or xinference (see `cluster start`), or a version: vllm==0.33.0',
    )
    .action((engine: string) =>
      shell.withHostEngines(async (host) => {
        report(shell, await host.install(engine, (line) => shell.print(line)), 'is installed.')
      }),
    )
  engines
    .command('remove <name>')
    .description('delete an installation, such as vllm-0.33.0')
    .action((name: string) =>
      shell.withHostEngines(async (host) => report(shell, await host.remove(name), 'is removed.')),
    )
}

function report(shell: Shell, change: EngineChange, done: string): void {
  if ('name' in change) shell.print(`${change.name} ${done}`)
  else shell.fail(change.refusal)
}

function describeReport({ gpus, engines, installations }: HostReport): string[] {
  const cards = gpus.map(({ name, obstacle }) =>
    obstacle === null ? `${name}: usable.` : `${obstacle.reason} ${obstacle.remedy}`,
  )
  return [
    ...engines.flatMap(describeEngine),
    ...new Set(cards.length === 0 ? ['No GPUs.'] : cards),
    `Installed by Berth: ${installations.join(', ') || 'nothing'}.`,
  ]
}

function describeEngine({ title, version, path, foundBy, gpus, isUsed, reason }: HostEngine): string[] {
  const name = version === null ? title : `${title} ${version}`
  const place = path === null ? '' : ` ${path}`
  return [
    `${isUsed ? '*' : ' '} ${name} (${foundBy})${place}`,
    `    ${reason}${gpus === null || gpus.length === 0 ? '' : ` Runs on ${[...new Set(gpus)].join(', ')}.`}`,
  ]
}
