import type { Deployment } from '../../contract.ts'
import { nameVariant } from '../models/variant-names.ts'

type Named = Pick<
  Deployment,
  'id' | 'alias' | 'model_name' | 'model_format' | 'model_size_in_billions' | 'quantization'
>

/** What people call a deployment: its alias, else its model. */
export const nameDeployment = ({ alias, model_name }: Pick<Named, 'alias' | 'model_name'>): string =>
  alias ?? model_name

/** What a deployment runs: its model, unless that is its name, and its variant, with a suffix if given. */
export const describeDeployment = (deployment: Named, suffix = ''): string =>
  `${deployment.alias === null ? '' : `${deployment.model_name} · `}${nameVariant(deployment, suffix)}`

/** The `model` of requests to a deployment. An alias stays the same when another deployment takes over. */
export const toRequestModel = ({
  alias,
  inference_model_uid: uid,
}: Pick<Deployment, 'alias' | 'inference_model_uid'>): string => alias ?? uid

export const shortenId = (id: string) => `…${id.slice(-6)}`

/** A short id for deployments with the name and variant of another in the list, else an empty text. */
export function findIdSuffixes(deployments: readonly Named[]): ReadonlyMap<string, string> {
  const kinds = Map.groupBy(deployments, (one) => `${nameDeployment(one)} ${nameVariant(one)}`)
  return new Map(
    [...kinds.values()].flatMap((alike) =>
      alike.map(({ id }) => [id, alike.length > 1 ? shortenId(id) : ''] as const),
    ),
  )
}
