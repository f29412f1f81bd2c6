import { useQuery } from '@tanstack/react-query'
import { ChevronsUpDown, X } from 'lucide-react'
import { Suspense, useEffect, useRef, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Skeleton } from '../../components/states.tsx'
import type { Deployment } from '../../contract.ts'
import { membersQuery } from '../../domain/members/queries.ts'
import { lazyPart } from '../../routing/lazy-part.ts'
import { text } from '../../text/index.ts'

const words = text.ownerFilter

const PersonSearch = lazyPart(() =>
  import('../../domain/members/person-search.tsx').then((module) => module.PersonSearch),
)

interface OwnerFilterProps {
  /** The id of the user, from the address */
  owner: string | undefined
  deployments: readonly Deployment[]
  onChange: (owner: string | undefined) => void
}

/** A button that opens a search of the organization's people, to list the deployments of one. */
export function OwnerFilter({ owner, deployments, onChange }: OwnerFilterProps) {
  const [isOpen, setOpen] = useState(false)
  const root = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const name = useName(owner, deployments)
  const close = () => {
    setOpen(false)
    button.current?.focus()
  }
  useEffect(() => {
    const { current } = root
    if (!isOpen || !current) return
    const onKeyDown = ({ key }: KeyboardEvent) => {
      if (key !== 'Escape') return
      setOpen(false)
      button.current?.focus()
    }
    const onFocusOut = ({ relatedTarget }: FocusEvent) => {
      if (!(relatedTarget instanceof Node && current.contains(relatedTarget))) setOpen(false)
    }
    current.addEventListener('keydown', onKeyDown)
    current.addEventListener('focusout', onFocusOut)
    return () => {
      current.removeEventListener('keydown', onKeyDown)
      current.removeEventListener('focusout', onFocusOut)
    }
  }, [isOpen])
  return (
    <div ref={root} className="relative flex items-center">
      <Button
        ref={button}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        className={owner === undefined ? '' : 'rounded-r-none border-r-0'}
        onClick={() => setOpen(!isOpen)}
      >
        {owner === undefined ? words.anyone : text.team.ownedBy(name)}
        <ChevronsUpDown aria-hidden />
      </Button>
      {owner !== undefined && (
        <Button
          size="icon"
          className="rounded-l-none"
          aria-label={words.clear}
          onClick={() => {
            onChange(undefined)
            close()
          }}
        >
          <X aria-hidden />
        </Button>
      )}
      {isOpen && (
        <div
          role="dialog"
          tabIndex={-1}
          aria-label={words.label}
          className="absolute top-full left-0 z-20 mt-1.5 w-72 max-w-[calc(100vw-3rem)] rounded-lg border bg-raised p-2 shadow-lg"
        >
          <Suspense fallback={<Skeleton className="h-30" />}>
            <PersonSearch
              label={words.label}
              placeholder={words.search}
              none={words.none}
              autoFocus
              chosen={Number(owner) || null}
              onChoose={({ userId }) => {
                onChange(String(userId))
                close()
              }}
            />
          </Suspense>
        </div>
      )}
    </div>
  )
}

/** The name of the owner: from a row, or without rows from the list of members. */
function useName(owner: string | undefined, deployments: readonly Deployment[]): string {
  const shown = deployments.find(({ user_id: id }) => id === owner)?.owner
  const { data: members } = useQuery({ ...membersQuery, enabled: owner !== undefined && !shown })
  const person = shown ?? members?.find(({ user_id: id }) => String(id) === owner)
  return person?.name || person?.email || words.unknown
}
