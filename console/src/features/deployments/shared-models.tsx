import { queryOptions } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { CodeXml, MessagesSquare } from 'lucide-react'
import { callApi } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import type { Deployment } from '../../contract.ts'
import { describeDeployment, findIdSuffixes, nameDeployment } from '../../domain/deployments/names.ts'
import { steadyInterval } from '../../domain/deployments/queries.ts'
import { StatusBadge } from '../../domain/deployments/status-badge.tsx'
import { isFinished, isPlayable } from '../../domain/deployments/status.ts'
import { text } from '../../text/index.ts'

const words = text.emptyList

/** The deployments that a person without own ones may call: those that colleagues share. */
export const sharedModelsQuery = queryOptions({
  queryKey: ['deployments', 'callable'],
  queryFn: ({ signal }) =>
    callApi('GET', '/api/v1/model-deployments', {
      query: { scope: 'callable', active: true, limit: 500 },
      signal,
    }),
  select: ({ items }) => items.filter((deployment) => !isFinished(deployment)),
  refetchInterval: steadyInterval,
})

/** What the team shares, for a person without own deployments: to chat with, and to call. */
export function SharedModels({ deployments }: { deployments: readonly Deployment[] }) {
  const idSuffixes = findIdSuffixes(deployments)
  return (
    <section aria-labelledby="shared-models">
      <div className="grid gap-1 border-b px-5 py-4">
        <h2 id="shared-models" className="text-base font-semibold">
          {words.sharesTitle(deployments.length)}
        </h2>
        <p className="text-muted">{words.sharesNote}</p>
      </div>
      <ul className="divide-y border-b">
        {deployments.map((deployment) => {
          const { id, owner } = deployment
          const name = `${nameDeployment(deployment)} ${idSuffixes.get(id) ?? ''}`.trim()
          return (
            <li key={id} className="flex flex-wrap items-center gap-x-4 gap-y-3 px-5 py-4">
              <div className="grid min-w-0 flex-1 basis-60 justify-items-start gap-0.5">
                <Link
                  to="/deployments/$deploymentId"
                  params={{ deploymentId: id }}
                  className="font-medium wrap-anywhere hover:underline"
                >
                  {nameDeployment(deployment)}
                </Link>
                <p className="text-[0.8125rem] wrap-anywhere text-muted">
                  {describeDeployment(deployment, idSuffixes.get(id))} ·{' '}
                  {text.team.ownedBy(owner.name || owner.email)}
                </p>
                <div className="mt-1">
                  <StatusBadge deployment={deployment} />
                </div>
              </div>
              <div className="flex flex-wrap gap-2">
                <Button asChild>
                  <Link
                    to="/deployments/$deploymentId"
                    params={{ deploymentId: id }}
                    search={{ tab: 'use' }}
                    aria-label={words.callOf(name)}
                  >
                    <CodeXml aria-hidden />
                    {words.call}
                  </Link>
                </Button>
                {isPlayable(deployment) && (
                  <Button asChild variant="primary">
                    <Link
                      to="/playground"
                      search={{ deployment: id }}
                      aria-label={
                        deployment.model_type === 'LLM' ? words.chatWith(name) : words.tryModel(name)
                      }
                    >
                      <MessagesSquare aria-hidden />
                      {deployment.model_type === 'LLM' ? words.chat : words.tryIt}
                    </Link>
                  </Button>
                )}
              </div>
            </li>
          )
        })}
      </ul>
    </section>
  )
}
