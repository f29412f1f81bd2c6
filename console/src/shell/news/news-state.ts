import type { DeploymentNews } from '../../contract.ts'

/** What a browser knows of a person's deployments, for all of its tabs. */
export interface NewsState {
  /** The person and their organization */
  readonly owner: string
  /** The latest news by the id of a deployment, the oldest first */
  readonly known: Readonly<Record<string, KnownNews>>
  /** The ids of deployments whose news wait to be seen */
  readonly unseen: readonly string[]
}

type KnownNews = Pick<DeploymentNews, 'status'> & { actAt: string | null }

/** What is worth a message: a deployment became ready or failed, or somebody else did this to it. */
export type Headline = 'ready' | 'failed' | NonNullable<DeploymentNews['foreign_act']>['act']

export const noNews = (owner: string): NewsState => ({ owner, known: {}, unseen: [] })

const mostKnown = 200

/** Adds an item of the stream; `headline` is null unless a person wants to hear of it. */
export function learnNews(
  { owner, known, unseen }: NewsState,
  item: DeploymentNews,
): { state: NewsState; headline: Headline | null } {
  const { deployment_id: id, status, foreign_act: act } = item
  const { [id]: before, ...others } = known
  const entries = [
    ...Object.entries(others),
    [id, { status, actAt: act?.at ?? before?.actAt ?? null }],
  ] as const
  const headline = findHeadline(before, item)
  return {
    state: {
      owner,
      known: Object.fromEntries(entries.slice(-mostKnown)),
      unseen: headline === null || unseen.includes(id) ? unseen : [...unseen, id],
    },
    headline,
  }
}

function findHeadline(
  before: KnownNews | undefined,
  { status, cause, foreign_act: act }: DeploymentNews,
): Headline | null {
  if (status === 'failed' && before?.status !== 'failed') return 'failed'
  if (act !== null && act.at !== before?.actAt) return act.act
  // What requests and schedules wake is no news.
  const isAwaited = cause === null || cause === 'person'
  return status === 'running' && before?.status !== 'running' && isAwaited ? 'ready' : null
}

/** Forgets that news wait: of one deployment, or of all. */
export function markSeen(state: NewsState, id: string | null): NewsState {
  const unseen = id === null ? [] : state.unseen.filter((one) => one !== id)
  return unseen.length === state.unseen.length ? state : { ...state, unseen }
}
