import type { Application } from '../../application.ts'
import { ApplicationError } from '../../errors.ts'
import type { VariantChoice } from '../catalog/catalog-file.ts'
import { chooseInstance } from './choose-instance.ts'
import type { SelectionResult } from './instance-selection.ts'
import { findRequestedVariant } from './request.ts'

type World = Pick<Application, 'db' | 'runtime' | 'prices' | 'clock' | 'config' | 'log'>

/** Says what a deployment would be given and why, creating nothing. */
export async function planDeployment(
  world: World,
  input: { modelName: string } & VariantChoice,
): Promise<SelectionResult> {
  const variant = await findRequestedVariant(world, input)
  try {
    return await chooseInstance(world, variant, [])
  } catch (error) {
    world.log.warn({ err: error }, 'the runtime did not say what it offers')
    const message = 'The runtime does not say what it offers. Try again later.'
    throw new ApplicationError('unavailable', 'runtime_unavailable', message, 5)
  }
}
