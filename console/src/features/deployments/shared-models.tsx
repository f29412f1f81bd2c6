import { queryOptions } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { CodeXml, MessagesSquare } from 'lucide-react'
import { Suspense, useState } from 'react'
import { callApi } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import type { Deployment } from '../../contract.ts'
import { describeDeployment, findIdSuffixes, nameDeployment } from '../../domain/deployments/names.ts'
import { steadyInterval } from '../../domain/deployments/queries.ts'
import { StatusBadge } from '../../domain/deployments/status-badge.tsx'
import { answersRequests, isFinished } from '../../domain/deployments/status.ts'
import { Skeleton } from '../../components/states.tsx'
import { lazyPart } from '../../routing/lazy-part.ts'
import { text } from '../../text/index.ts'

const words = text.emptyList

const CallSnippet = lazyPart(() => import('./call-snippet.tsx').then((module) => module.CallSnippet))

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
  // The only one shows how to call it at once.
  const [opened, setOpened] = useState(deployments.length === 1 ? deployments[0]!.id : null)
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
          const isOpen = opened === id
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
                <Button
                  aria-label={words.callOf(name)}
                  aria-expanded={isOpen}
                  onClick={() => setOpened(isOpen ? null : id)}
                >
                  <CodeXml aria-hidden />
                  {words.call}
                </Button>
                {answersRequests(deployment) && (
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
              {isOpen && (
                <div className="min-w-0 basis-full">
                  <Suspense fallback={<Skeleton className="h-40" />}>
                    <CallSnippet deployment={deployment} />
                  </Suspense>
                </div>
              )}
            </li>
          )
        })}
      </ul>
    </section>
  )
}
