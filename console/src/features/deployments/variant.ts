import type { Deployment } from '../../../../server/src/contract.ts'
import { text } from '../../text/index.ts'

type Variant = Pick<Deployment, 'model_format' | 'model_size_in_billions' | 'quantization'>

const size = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 4 })

/** Size, format and quantization in one line. */
export function describeVariant({ model_format, model_size_in_billions, quantization }: Variant): string {
  return [text.deployments.parameters(size.format(model_size_in_billions)), model_format, quantization].join(
    ' · ',
  )
}
