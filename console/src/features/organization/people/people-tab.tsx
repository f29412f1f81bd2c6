import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { SearchX } from 'lucide-react'
import { Suspense } from 'react'
import { useCan } from '../../../api/session.ts'
import { classNames } from '../../../class-names.ts'
import { Button } from '../../../components/button.tsx'
import { UnlabeledSelect } from '../../../components/field.tsx'
import { Loaded } from '../../../components/loaded.tsx'
import { Section } from '../../../components/page.tsx'
import { SearchInput } from '../../../components/search-input.tsx'
import { EmptyState } from '../../../components/states.tsx'
import { HeadCell, Table } from '../../../components/table.tsx'
import { useNow } from '../../../components/use-now.ts'
import { useSearchDraft } from '../../../components/use-search-draft.ts'
import type { OrganizationPerson } from '../../../contract.ts'
import { peopleQuery } from '../../../domain/members/queries.ts'
import { lazyPart } from '../../../routing/lazy-part.ts'
import { toPageNumber } from '../../../routing/search.ts'
import { text } from '../../../text/index.ts'
import { MemberRow } from './member-row.tsx'
import { kinds, pageSize, roles, sorts, toPeopleQuery } from './people-search.ts'
import type { PeopleSearch } from './people-search.ts'

const words = text.people

// Few organizations have open invitations or several pages of people.
const InvitationRow = lazyPart(() => import('./invitation-row.tsx').then((module) => module.InvitationRow))
const Paging = lazyPart(() => import('../../../components/paging.tsx').then((module) => module.Paging))

/** The members and programs, with open invitations for admins. The address has the filters. */
export function PeopleTab() {
  const search = useSearch({ from: '/app/organization' })
  const query = useQuery({
    ...peopleQuery(toPeopleQuery(search)),
    // An invitee may answer at any time.
    refetchInterval: 30_000,
  })
  return (
    <div className="grid gap-3">
      <Filters search={search} />
      <Section flush>
        <Loaded query={query}>
          {(data) =>
            data.items.length === 0 ? (
              <NoMatch isBeyondEnd={data.total > 0} />
            ) : (
              <>
                <div className={classNames('transition-opacity', query.isPlaceholderData && 'opacity-60')}>
                  <People people={data.items} />
                </div>
                {data.total > pageSize && (
                  <Suspense>
                    <Paging
                      page={toPageNumber(search.page)}
                      pageSize={pageSize}
                      total={data.total}
                      renderLink={(page, label) => (
                        <Link to="/organization" search={{ ...search, page }}>
                          {label}
                        </Link>
                      )}
                    />
                  </Suspense>
                )}
              </>
            )
          }
        </Loaded>
      </Section>
    </div>
  )
}

function Filters({ search }: { search: PeopleSearch }) {
  const isAdmin = useCan()('manageMembers')
  const navigate = useNavigate({ from: '/organization' })
  const change = (changes: PeopleSearch) =>
    void navigate({
      search: (before) => ({ ...before, page: undefined, ...changes }),
      replace: true,
      resetScroll: false,
    })
  const [draft, setDraft] = useSearchDraft(search.q ?? '', (q) => change({ q: q.trim() || undefined }))
  const orders = isAdmin ? sorts : sorts.filter((sort) => !sort.endsWith('_at'))
  return (
    <search className="flex flex-wrap items-center gap-2">
      <SearchInput label={words.search} value={draft} onChange={setDraft} />
      <Choice
        label={text.organization.role}
        value={search.role}
        options={roles.map((role) => [role, text.shell.role[role]])}
        none={words.anyRole}
        onChange={(role) => change({ role })}
      />
      <Choice
        label={words.kind}
        value={search.kind}
        options={kinds
          .filter((kind) => isAdmin || kind !== 'invitation')
          .map((kind) => [kind, words.kinds[kind]])}
        none={words.kinds.all}
        onChange={(kind) => change({ kind })}
      />
      <Choice
        label={words.sort}
        value={search.sort}
        options={orders.map((sort) => [sort, words.sorts[sort]])}
        none={words.sorts[isAdmin ? 'invited' : 'kind']}
        onChange={(sort) => change({ sort })}
      />
    </search>
  )
}

interface ChoiceProps {
  label: string
  value: string | undefined
  options: (readonly [value: string, label: string])[]
  /** The label of no choice */
  none: string
  onChange: (value: string | undefined) => void
}

function Choice({ label, value, options, none, onChange }: ChoiceProps) {
  return (
    <UnlabeledSelect
      aria-label={label}
      value={value ?? ''}
      onChange={({ target }) => onChange(target.value || undefined)}
      className="max-w-full min-w-0 flex-1 basis-32 sm:flex-none sm:basis-auto"
    >
      <option value="">{none}</option>
      {options.map(([each, name]) => (
        <option key={each} value={each}>
          {name}
        </option>
      ))}
    </UnlabeledSelect>
  )
}

function NoMatch({ isBeyondEnd }: { isBeyondEnd: boolean }) {
  return (
    <EmptyState
      icon={<SearchX />}
      title={words.noneTitle}
      action={
        <Button asChild>
          <Link to="/organization">{words.clear}</Link>
        </Button>
      }
    >
      {isBeyondEnd ? words.emptyPage : words.none}
    </EmptyState>
  )
}

function People({ people }: { people: readonly OrganizationPerson[] }) {
  const isAdmin = useCan()('manageMembers')
  // A poll without changes does not re-render, so update relative times here.
  useNow(10_000)
  return (
    <Table
      label={words.label}
      head={
        <>
          <HeadCell>{text.organization.name}</HeadCell>
          <HeadCell>{text.organization.role}</HeadCell>
          {isAdmin && (
            <>
              <HeadCell className="hidden lg:table-cell">{words.secondFactor}</HeadCell>
              <HeadCell className="hidden md:table-cell">{words.lastActive}</HeadCell>
              <HeadCell className="hidden sm:table-cell">{words.joined}</HeadCell>
            </>
          )}
          <HeadCell className="w-0">
            <span className="sr-only">{text.organization.actions}</span>
          </HeadCell>
        </>
      }
    >
      {people.map((person) =>
        person.kind === 'invitation' ? (
          <Suspense key={`invitation ${person.id}`} fallback={<tr className="h-13" />}>
            <InvitationRow person={person} />
          </Suspense>
        ) : (
          <MemberRow key={person.id} person={person} showsDates={isAdmin} />
        ),
      )}
    </Table>
  )
}
