import { basename } from 'node:path'
import type { Account } from '../../../../base/account.ts'
import type {
  GpuFigures,
  GpuMemory,
  HostEngine,
  HostEngines,
  HostReport,
} from '../../../../ports/host-engines.ts'
import type { HeldGpu, UseOf } from '../gpu-use.ts'
import type { Gpu } from '../gpus.ts'
import { runningAgeMs } from '../host-gpus.ts'
import { shortenUuid } from '../host.ts'
import type { LocalRuntimeSettings } from '../settings.ts'
import type { Host } from './host-state.ts'
import { installEngine } from './install-engine.ts'
import { listInstallations } from './installations.ts'
import type { Inventory } from './inventory.ts'
import { describeProblem, findObstacle, findResult, nameDevice, nameEngine } from './judge.ts'
import { removeInstallation } from './remove-installation.ts'
import type { EngineOrigin, FoundEngine } from './types.ts'

const finders: Readonly<Record<EngineOrigin, HostEngine['foundBy']>> = {
  bundled: 'Berth',
  setting: 'a setting',
  installed: 'engines install',
  path: 'PATH',
}

/** Engines of this host. `listFolders` has the folders of all instances, which `account` runs. */
export function createHostEngines(
  settings: LocalRuntimeSettings,
  host: Host,
  listFolders: () => Promise<string[]>,
  account: Account | null,
  gpus: { readUse(maxAgeMs?: number): Promise<UseOf>; listHeld(): Promise<HeldGpu[]> },
): HostEngines {
  return {
    async report() {
      await host.update()
      const [useOf, held] = await Promise.all([gpus.readUse(), gpus.listHeld()])
      const installations = await listInstallations(settings.dataDirectory)
      return describeInventory(host.inventory, installations, (gpu) => toMemory(gpu, useOf, held))
    },
    async measureGpus() {
      const { devices } = host.inventory
      if (devices.length === 0) return []
      const [useOf, held] = await Promise.all([gpus.readUse(runningAgeMs), gpus.listHeld()])
      return devices.map(({ gpu }) => toFigures(gpu, useOf, held))
    },
    async install(request, onProgress) {
      const change = await installEngine(settings, host.inventory, request, onProgress, account)
      if ('name' in change) await host.update()
      return change
    },
    async remove(name) {
      const change = await removeInstallation(settings, name, await listFolders())
      if ('name' in change) await host.update()
      return change
    },
  }
}

function toFigures({ uuid, name, memoryBytes }: Gpu, useOf: UseOf, held: readonly HeldGpu[]): GpuFigures {
  const { usedBytes, othersBytes, utilization, engineBytes } = useOf(uuid)
  const holders = held.filter((each) => each.uuid === uuid)
  // A driver hides processes from containers. Only one engine can use what is neither free nor of others.
  const rest = holders.length === 1 && usedBytes !== null ? usedBytes - othersBytes : null
  const engines = holders.map(({ engineId }) => ({
    engineId,
    usedBytes: rest ?? engineBytes.get(engineId) ?? null,
  }))
  return { id: shortenUuid(uuid), name, totalBytes: memoryBytes, othersBytes, utilization, engines }
}

function toMemory({ uuid, memoryBytes }: Gpu, useOf: UseOf, held: readonly HeldGpu[]): GpuMemory {
  const parts = held.filter((each) => each.uuid === uuid).map((each) => memoryBytes / each.parts)
  const promisedBytes = Math.floor(parts.reduce((sum, bytes) => sum + bytes, 0))
  const { othersBytes, others } = useOf(uuid)
  return { totalBytes: memoryBytes, promisedBytes, othersBytes, others }
}

function describeInventory(
  inventory: Inventory,
  installations: readonly { folder: string }[],
  readMemory: (gpu: Gpu) => GpuMemory,
): HostReport {
  const { devices, chosen, engines, unseen } = inventory
  const known = devices.map((device) => ({
    name: nameDevice(device.gpu),
    memory: readMemory(device.gpu),
    obstacle: findObstacle(device, chosen, engines),
  }))
  return {
    gpus: unseen === null ? known : [{ name: "NVIDIA's GPUs", memory: null, obstacle: unseen }, ...known],
    engines: engines.map((engine) => describeEngine(inventory, engine)),
    installations: installations.map(({ folder }) => basename(folder)),
  }
}

function describeEngine({ devices, chosen }: Inventory, engine: FoundEngine): HostEngine {
  const usable = devices.filter((device) => findResult(device, engine)?.works === true)
  return {
    title: engine.title,
    version: engine.version,
    path: engine.command?.join(' ') ?? null,
    foundBy: finders[engine.origin],
    gpus: devices.length === 0 ? null : usable.map(({ gpu }) => nameDevice(gpu)),
    isUsed: chosen.includes(engine),
    reason: explain(engine, devices, chosen),
  }
}

function explain(engine: FoundEngine, devices: Inventory['devices'], chosen: readonly FoundEngine[]): string {
  if (engine.problem !== null) return describeProblem(engine, engine.problem)
  const problems = devices.flatMap((device) => {
    const result = findResult(device, engine)
    if (result === undefined || result.works) return []
    return `${nameDevice(device.gpu)}: ${describeProblem(engine, result.problem)}`
  })
  const rival = chosen.find((other) => other !== engine && rivals(other, engine))
  const isForGpus =
    devices.length === 0 || devices.some((device) => findResult(device, engine)?.works === true)
  const use = chosen.includes(engine)
    ? `New instances run on it${isForGpus ? '' : ', on the CPU'}.`
    : rival === undefined
      ? 'No device of this host can use it.'
      : `New instances run on ${nameEngine(rival)} (${finders[rival.origin]}).`
  return [...new Set([use, ...problems])].join(' ')
}

/** True if two engines load the same formats. */
function rivals(one: FoundEngine, other: FoundEngine): boolean {
  return (one.name === 'vllm') === (other.name === 'vllm')
}
