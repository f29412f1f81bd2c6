import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Section } from '../../components/page.tsx'
import { useNow } from '../../components/use-now.ts'
import { deploymentsQuery } from '../../domain/deployments/queries.ts'
import { formatRelative } from '../../format.ts'
import { text } from '../../text/index.ts'
import { StatusBadge } from '../../domain/deployments/status-badge.tsx'
import { findIdSuffixes, nameVariant } from '../../domain/models/variant-names.ts'

const words = text.catalog
const shownAtMost = 5

/** Links to the person's newest active deployments of a model; renders nothing without one. */
export function ModelDeployments({ modelName }: { modelName: string }) {
  const { data } = useQuery(deploymentsQuery({ all: false, page: 1 }))
  // A poll without changes does not re-render, so update relative times here.
  useNow(10_000)
  const deployments = data?.items.filter(({ model_name }) => model_name === modelName) ?? []
  if (deployments.length === 0) return null
  const idSuffixes = findIdSuffixes(deployments)
  return (
    <Section
      title={words.yourDeployments}
      flush
      actions={
        deployments.length > shownAtMost && (
          <Link to="/deployments" className="text-[0.8125rem] font-medium text-accent hover:underline">
            {words.seeAllDeployments}
          </Link>
        )
      }
    >
      <ul className="divide-y">
        {deployments.slice(0, shownAtMost).map((deployment) => (
          <li
            key={deployment.id}
            className="relative flex flex-wrap items-center gap-x-4 gap-y-1 px-5 py-3 hover:bg-subtle"
          >
            <Link
              to="/deployments/$deploymentId"
              params={{ deploymentId: deployment.id }}
              className="font-medium after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
            >
              {nameVariant(deployment, idSuffixes.get(deployment.id))}
            </Link>
            <StatusBadge deployment={deployment} />
            <span className="ml-auto text-[0.8125rem] text-muted">
              {words.createdAgo(formatRelative(deployment.created_at))}
            </span>
          </li>
        ))}
      </ul>
    </Section>
  )
}
