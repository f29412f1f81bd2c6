import type { DeploymentRequestInput } from '../../contract.ts'
import { writeEngineOptions } from '../../engine-options.ts'
import { writeCommand } from '../cli/write-command.ts'
import { offeredIdleMinutes } from './sleep-field.tsx'

/** The command that deploys as the form does. */
export function writeDeployCommand(
  request: DeploymentRequestInput,
  { sleeps, shares }: { sleeps: boolean; shares: boolean },
): string {
  return writeCommand(['deploy', request.model_name], {
    format: request.model_format,
    size: request.model_size_in_billions,
    quantization: request.quantization,
    'min-context': request.min_context_tokens,
    'instance-type': request.instance_type,
    alias: request.alias,
    share: shares,
    'idle-minutes': sleeps ? offeredIdleMinutes : undefined,
    'engine-option': request.engine_options && writeEngineOptions(request.engine_options),
  })
}
