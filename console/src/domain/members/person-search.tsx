import { useQuery } from '@tanstack/react-query'
import { Command } from 'cmdk'
import { Check } from 'lucide-react'
import { useState } from 'react'
import { focusField } from '../../components/field.tsx'
import { ErrorMessage } from '../../components/states.tsx'
import { useSettled } from '../../components/use-settled.ts'
import type { OrganizationPerson } from '../../contract.ts'
import { peopleQuery } from './queries.ts'

/** As many people as the list shows. The search finds the others. */
const shown = 20

/** A member, or a program */
export interface FoundPerson {
  userId: number
  name: string
}

interface PersonSearchProps {
  label: string
  placeholder: string
  /** What the list says when it is empty */
  none: string
  /** The user who is chosen already */
  chosen: number | null
  /** Whether the field takes the focus when it appears */
  autoFocus?: boolean
  onChoose: (person: FoundPerson) => void
  /** Who is not offered */
  leavesOut?: (person: OrganizationPerson) => boolean
}

/** A field that searches the members and programs at the server, with a list to choose one from. */
export function PersonSearch({
  label,
  placeholder,
  none,
  chosen,
  autoFocus = false,
  onChoose,
  leavesOut = () => false,
}: PersonSearchProps) {
  const [typed, setTyped] = useState('')
  const [pointed, setPointed] = useState('')
  const q = useSettled(typed.trim())
  // By role, because viewers, who come last, can't own anything.
  const { data, error } = useQuery(peopleQuery({ q: q || undefined, sort: 'role', limit: shown }))
  const found = (data?.items ?? []).flatMap((person) =>
    person.user_id === null || leavesOut(person)
      ? []
      : [{ userId: person.user_id, name: person.name || person.email, email: person.email }],
  )
  // Enter chooses the first one when those before have gone.
  const values = found.map(({ userId }) => String(userId))
  const value = values.includes(pointed) ? pointed : (values[0] ?? '')
  return (
    <Command
      label={label}
      value={value}
      onValueChange={setPointed}
      shouldFilter={false}
      loop
      className="grid min-w-0 grid-cols-[minmax(0,1fr)] rounded-md border border-line-strong/70 bg-surface"
    >
      <Command.Input
        {...(autoFocus && { ref: focusField })}
        value={typed}
        onValueChange={setTyped}
        placeholder={placeholder}
        className="h-9 min-w-0 rounded-t-md border-b bg-transparent px-3 placeholder:text-muted focus-visible:outline-2 focus-visible:outline-accent"
      />
      <Command.List label={label} className="max-h-48 overflow-y-auto p-1">
        <Command.Empty className="px-2.5 py-4 text-center text-muted">{data && none}</Command.Empty>
        {found.map((person) => (
          <Command.Item
            key={person.userId}
            value={String(person.userId)}
            onSelect={() => onChoose(person)}
            className="flex cursor-default items-center gap-2 rounded px-2.5 py-1.5 data-[selected=true]:bg-subtle"
          >
            <span className="min-w-0 flex-1 truncate">
              {person.name} <span className="text-muted">{person.email}</span>
            </span>
            {person.userId === chosen && <Check aria-hidden className="size-4 shrink-0 text-accent" />}
          </Command.Item>
        ))}
      </Command.List>
      <ErrorMessage error={error} />
    </Command>
  )
}
