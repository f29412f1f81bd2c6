import type { Containment } from '../engine/containment.ts'
import { openEngine, openEngines } from '../engine/engine-choice.ts'
import type { LocalEngines } from '../engine/engine-choice.ts'
import { describeHost } from '../host.ts'
import type { HostOffer } from '../host.ts'
import type { LocalRuntimeSettings } from '../settings.ts'
import { listInstallations } from './installations.ts'
import { describeUse, takeInventory } from './inventory.ts'
import type { Inventory } from './inventory.ts'
import { describeObstacle, describeProblem, findObstacle } from './judge.ts'

/** What this host offers now. An installation changes it. */
export interface Host {
  readonly inventory: Inventory
  /** The engines that serve */
  readonly programs: LocalEngines
  readonly offers: readonly HostOffer[]
  /** Looks for engines that were installed or removed since, in the background. */
  refresh(): void
  /** The same, and waits for the result. */
  update(): Promise<void>
}

type State = Pick<Host, 'inventory' | 'programs' | 'offers'> & { installed: string }

/** Takes the inventory of this host, and says in the log what can't be used. */
export async function openHost(settings: LocalRuntimeSettings, containment: Containment): Promise<Host> {
  let state = await readState(settings, containment)
  let updating: Promise<void> | null = null
  logProblems(settings, state.inventory)

  async function update(): Promise<void> {
    if ((await nameInstallations(settings)) === state.installed) return
    state = await readState(settings, containment)
    logProblems(settings, state.inventory)
  }

  function updateOnce(): Promise<void> {
    updating ??= update().finally(() => (updating = null))
    return updating
  }

  return {
    get inventory() {
      return state.inventory
    },
    get programs() {
      return state.programs
    },
    get offers() {
      return state.offers
    },
    refresh() {
      updateOnce().catch((error: unknown) =>
        settings.logger.warn({ err: error }, 'could not look for installed engines'),
      )
    },
    update: updateOnce,
  }
}

async function readState(settings: LocalRuntimeSettings, containment: Containment): Promise<State> {
  const installed = await nameInstallations(settings)
  const inventory = await takeInventory(settings, containment)
  const programs = openEngines(settings, inventory)
  const formats = programs.list.flatMap((engine) => engine.formats)
  const devices = inventory.devices.map((device) => ({
    gpu: device.gpu,
    ...describeUse(inventory, device, (engine) => openEngine(settings, engine, []).facts.formats),
  }))
  return { installed, inventory, programs, offers: describeHost(settings, formats, devices) }
}

async function nameInstallations({ dataDirectory }: LocalRuntimeSettings): Promise<string> {
  return (await listInstallations(dataDirectory)).map(({ folder }) => folder).join('\n')
}

/** One line for each kind of GPU that no engine can use, and each engine that can't be used. */
function logProblems(
  { logger }: LocalRuntimeSettings,
  { devices, chosen, engines, unseen }: Inventory,
): void {
  const obstacles = devices.flatMap((device) => {
    const obstacle = findObstacle(device, chosen, engines)
    return obstacle === null ? [] : describeObstacle(obstacle)
  })
  const broken = engines.flatMap((engine) =>
    engine.problem === null ? [] : describeProblem(engine, engine.problem),
  )
  const missing = unseen === null ? [] : [describeObstacle(unseen)]
  for (const text of new Set([...missing, ...obstacles, ...broken])) logger.warn({}, text)
}
