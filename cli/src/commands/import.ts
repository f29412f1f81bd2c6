import type { DeployableModel } from '../../../console/src/contract.ts'
import { connectClient } from '../api/connect.ts'
import type { Context } from '../base/context.ts'
import { readSecret } from '../base/prompt.ts'

interface ImportOptions {
  name?: string
  base?: string
  revision?: string
  tokenStdin?: boolean
}

/** Adds the model of a repository or of an upload. */
export async function importModel(
  { env, output }: Context,
  source: string,
  { name, base, revision, tokenStdin }: ImportOptions,
): Promise<void> {
  const client = await connectClient(env)
  const token = tokenStdin ? await readSecret() : undefined
  const from = isId(source) ? { upload_id: source } : { huggingface: source, revision, token }
  const model = await client.call('POST', '/api/v1/deployable-models', {
    body: { ...from, model_name: name, base_model: base },
  })
  reportModel(output, model)
}

/** Prints a model that is now in the catalog. */
export function reportModel(output: Context['output'], model: DeployableModel): void {
  output.result(model, () => {
    output.line(model.model_name)
    output.note(describeNext(model))
  })
}

function describeNext({ model_name: name, base_model: base }: DeployableModel): string {
  return base === null
    ? `It is in the catalog. Try \`berth plan ${name}\`.`
    : `It is a LoRA of ${base}. \`berth adapters DEPLOYMENT ${name}\` lets a deployment of ${base} serve it.`
}

function isId(source: string): boolean {
  return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(source)
}
