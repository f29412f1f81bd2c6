import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useEffect } from 'react'
import type { ComponentType, ReactNode } from 'react'
import { ApiError } from '../../api/client.ts'
import { sessionQuery, useSession } from '../../api/session.ts'
import { NotFoundPage } from '../../components/not-found-page.tsx'
import { Page, Section } from '../../components/page.tsx'
import { ErrorState, SkeletonRows } from '../../components/states.tsx'
import { FactorSetup } from '../../domain/second-factors/factor-setup.tsx'
import { secondFactorsQuery } from '../../domain/second-factors/queries.ts'
import { text } from '../../text/index.ts'
import { FindingsView } from './findings-view.tsx'
import { HealthView } from './health-view.tsx'
import { MachinesView } from './machines-view.tsx'
import { OrganizationView } from './organization-view.tsx'
import { OrganizationsView } from './organizations-view.tsx'
import { WaitingView } from './waiting-view.tsx'
import { WeightsView } from './weights-view.tsx'

const words = text.server
const route = getRouteApi('/app/server/{-$view}')

const contents: Record<keyof typeof words.views, ComponentType> = {
  machines: MachinesView,
  waiting: WaitingView,
  weights: WeightsView,
  health: HealthView,
  organizations: OrganizationsView,
  findings: FindingsView,
}

const isView = (view: string): view is keyof typeof contents => Object.hasOwn(contents, view)

/** What operators see of the whole installation. */
export function ServerView() {
  const { view = 'machines' } = route.useParams()
  const { organization } = route.useSearch()
  if (!isView(view)) return <NotFoundPage />
  if (view === 'organizations' && organization !== undefined) {
    return (
      <Secured title={words.organization}>
        <OrganizationView key={organization} id={Number(organization)} />
      </Secured>
    )
  }
  const Content = contents[view]
  return (
    <Secured title={words.views[view].title}>
      <Page {...words.views[view]}>
        <Content />
      </Page>
    </Secured>
  )
}

/** Leads an operator without a second factor to one first, and forgets a grant that has ended. */
function Secured({ title, children }: { title: string; children: ReactNode }) {
  const { session } = useSession()
  const isByPassword = session.auth_method === 'password'
  const factors = useQuery({
    ...secondFactorsQuery,
    enabled: isByPassword,
    // The codes of a new factor must stay on the page until they are saved.
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  })
  useEndOfGrant()
  // Providers ask for their own second factors.
  if (!isByPassword) return children
  if (factors.data === undefined) {
    return (
      <Page title={title}>
        <Section flush>
          {factors.error ? (
            <ErrorState error={factors.error} onRetry={() => void factors.refetch()} />
          ) : (
            <SkeletonRows />
          )}
        </Section>
      </Page>
    )
  }
  const { totp, passkeys } = factors.data
  if (totp !== null || passkeys.length > 0) return children
  return (
    <Page title={words.factorTitle} description={words.factorDescription}>
      <Section className="max-w-md">
        <FactorSetup />
      </Section>
    </Page>
  )
}

/** Reloads the session once the server refuses an operator, whose grant has ended then. */
function useEndOfGrant() {
  const queryClient = useQueryClient()
  useEffect(
    () =>
      queryClient.getQueryCache().subscribe(({ type, query }) => {
        const { error } = query.state
        if (type !== 'updated' || query.queryKey[0] !== 'installation') return
        if (error instanceof ApiError && error.code === 'forbidden') {
          void queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey })
        }
      }),
    [queryClient],
  )
}
