import type { Gpu } from '../gpus.ts'

/** A device that a llama-server lists, such as `Vulkan0: NVIDIA L4` */
export interface LlamaDevice {
  name: string
  description: string
}

/** Parses the output of `llama-server --list-devices`. */
export function parseDevices(output: string): LlamaDevice[] {
  const [, list = ''] = /Available devices:(.*)/s.exec(output) ?? []
  return [...list.matchAll(/^ +(\w+): (\S.*)$/gm)].map(([, name, description]) => ({
    name: name!,
    description: description!,
  }))
}

/**
 * The devices of a llama-server that are its GPUs, because no variable hides the others from Vulkan;
 * undefined if it sees no others. Vulkan tells names only, so equal GPUs are taken in their order.
 */
export function chooseDevices(
  listed: readonly LlamaDevice[],
  hostGpus: readonly Gpu[],
  uuids: readonly string[],
): string[] | undefined {
  if (listed.length <= uuids.length) return undefined
  const limited = listed.filter(({ name }) => !name.startsWith('Vulkan'))
  if (limited.length > 0) return limited.map(({ name }) => name)
  const chosen = uuids.flatMap((uuid) => {
    const gpu = hostGpus.find((each) => each.uuid === uuid)
    if (gpu === undefined) return []
    const alike = hostGpus.filter(({ name }) => name === gpu.name)
    const named = listed.filter(({ description }) => description.includes(gpu.name))
    const device = named[alike.indexOf(gpu)] ?? listed[hostGpus.indexOf(gpu)]
    return device === undefined ? [] : device.name
  })
  return chosen.length === uuids.length && new Set(chosen).size === chosen.length ? chosen : undefined
}
