import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Boxes, FileQuestion, SearchX, Users } from 'lucide-react'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { EmptyState } from '../../components/states.tsx'
import { text } from '../../text/index.ts'
import type { ListSearch } from './list-search.ts'
import { SharedModels, sharedModelsQuery } from './shared-models.tsx'

const words = text.emptyList

/** Why a list is empty: the team has nothing, all are terminated, or the page is beyond the end. */
export function EmptyList({ search, isBeyondEnd }: { search: ListSearch; isBeyondEnd: boolean }) {
  const { whose, show, q, status, owner, sort } = search
  if ((q ?? status ?? owner) !== undefined && !isBeyondEnd) return <NoMatch search={search} />
  if (whose === 'team' && !isBeyondEnd) return <EmptyTeam />
  const isPage = show === 'all' || isBeyondEnd
  return (
    <>
      {!isPage && <Shared />}
      <EmptyState
        icon={isPage ? <FileQuestion /> : <Boxes />}
        title={isPage ? words.emptyPageTitle : words.noneActiveTitle}
        action={
          <Button asChild>
            <Link to="/deployments" search={{ whose, q, status, owner, sort, show: 'all' }}>
              {isPage ? words.firstPage : words.showAll}
            </Link>
          </Button>
        }
      >
        {isPage ? words.emptyPage : words.noneActive}
      </EmptyState>
    </>
  )
}

/** The search and the filters find nothing. */
function NoMatch({ search: { whose, show, sort } }: { search: ListSearch }) {
  return (
    <EmptyState
      icon={<SearchX />}
      title={words.noMatchTitle}
      action={
        <Button asChild>
          <Link to="/deployments" search={{ whose, show, sort }}>
            {words.clearFilters}
          </Link>
        </Button>
      }
    >
      {words.noMatch}
    </EmptyState>
  )
}

/** What the team shares, if anything. */
function Shared() {
  const { data: shared = [] } = useQuery(sharedModelsQuery)
  return shared.length > 0 && <SharedModels deployments={shared} />
}

function EmptyTeam() {
  const seesAll = useCan()('manageDeployments')
  return (
    <EmptyState icon={<Users />} title={seesAll ? words.noneTeamTitle : words.noneSharedTitle}>
      {seesAll ? words.noneTeam : words.noneShared}
    </EmptyState>
  )
}
