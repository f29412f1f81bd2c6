import { useQuery } from '@tanstack/react-query'
import type { Deployment } from '../../contract.ts'
import { teamsQuery } from '../../domain/teams/queries.ts'
import { text } from '../../text/index.ts'

type SharedWith = NonNullable<Deployment['shared_with']>

const words = text.teams

/** Whether a choice is empty. */
export function isNobody(sharedWith: SharedWith): boolean {
  return sharedWith !== 'organization' && sharedWith.teams.length + sharedWith.members.length === 0
}

/** Chooses everybody, or teams. Members that are named already stay named. */
export function SharingChoice({
  value,
  onChange,
}: {
  value: SharedWith
  onChange: (value: SharedWith) => void
}) {
  const { data: teams = [] } = useQuery(teamsQuery)
  if (teams.length === 0 && value === 'organization') return null
  const some = value === 'organization' ? { teams: [], members: [] } : value
  const toggle = (id: number) => {
    const others = some.teams.filter((team) => team !== id)
    onChange({ ...some, teams: others.length === some.teams.length ? [...others, id] : others })
  }
  return (
    <fieldset className="grid gap-2">
      <legend className="mb-1.5 font-medium">{words.with}</legend>
      <label className="flex items-center gap-2.5">
        <input
          type="radio"
          name="sharing"
          className="accent-accent"
          checked={value === 'organization'}
          onChange={() => onChange('organization')}
        />
        {words.everybody}
      </label>
      <label className="flex items-center gap-2.5">
        <input
          type="radio"
          name="sharing"
          className="accent-accent"
          checked={value !== 'organization'}
          onChange={() => onChange(some)}
        />
        {words.some}
      </label>
      {value !== 'organization' && (
        <div className="grid gap-1.5 pl-6">
          {teams.map(({ id, name }) => (
            <label key={id} className="flex items-center gap-2.5">
              <input
                type="checkbox"
                className="accent-accent"
                checked={some.teams.includes(id)}
                onChange={() => toggle(id)}
              />
              <span className="min-w-0 truncate">{name}</span>
            </label>
          ))}
          {some.members.length > 0 && (
            <p className="text-[0.8125rem] text-muted">{words.someMembers(some.members.length)}</p>
          )}
          {isNobody(some) && <p className="text-[0.8125rem] text-muted">{words.choose}</p>}
        </div>
      )}
    </fieldset>
  )
}
