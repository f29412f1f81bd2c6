import { describeHost } from './host.ts'
import { findDevices } from './inventory/inventory.ts'
import type { LocalRuntimeSettings } from './settings.ts'

/** The instance types of this host, with shares of its GPUs, whichever engines it has. */
export async function listInstanceTypes(
  settings: Pick<LocalRuntimeSettings, 'environment' | 'instanceTypes' | 'gpuShares'>,
): Promise<{ instanceType: string; region: string }[]> {
  const { gpus } = await findDevices(settings)
  const devices = gpus.map((gpu) => ({ gpu, formats: [], obstacle: null }))
  return describeHost(settings, [], devices).map(({ offer: { instanceType, region } }) => ({
    instanceType,
    region,
  }))
}
