import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ReactNode } from 'react'
import type { Team } from '../../../contract.ts'
import { Button } from '../../../components/button.tsx'
import { ConfirmDialog, Dialog } from '../../../components/dialog.tsx'
import { TextField } from '../../../components/field.tsx'
import { fieldErrors, Form } from '../../../components/form.tsx'
import { SearchInput } from '../../../components/search-input.tsx'
import { ErrorMessage } from '../../../components/states.tsx'
import { useSettled } from '../../../components/use-settled.ts'
import { peopleQuery } from '../../../domain/members/queries.ts'
import { teamsQuery } from '../../../domain/teams/queries.ts'
import { text } from '../../../text/index.ts'
import { useDeleteTeam, useSaveTeam, useSetTeamMember } from './queries.ts'

const words = text.teams

/** The open dialog about a team. `team` is null for a new one. */
export interface OpenDialog {
  dialog: 'name' | 'members' | 'delete'
  team: Team | null
}

interface DialogProps {
  team: Team
  onClose: () => void
}

export function TeamDialogs({ open, onClose }: { open: OpenDialog; onClose: () => void }) {
  const { dialog, team } = open
  if (team === null || dialog === 'name') return <NameDialog team={team} onClose={onClose} />
  if (dialog === 'members') return <MembersDialog team={team} onClose={onClose} />
  return <DeleteDialog team={team} onClose={onClose} />
}

function NameDialog({ team, onClose }: { team: Team | null; onClose: () => void }) {
  const saving = useSaveTeam()
  return (
    <Dialog onClose={onClose} title={team === null ? words.add : words.renameOf(team.name)}>
      <Form<'name'>
        submitLabel={team === null ? words.add : text.common.save}
        busy={saving.isPending}
        error={saving.error}
        onSubmit={({ name }) => saving.mutate({ id: team?.id ?? null, name }, { onSuccess: onClose })}
      >
        <TextField
          label={words.name}
          hint={words.nameHint}
          name="name"
          autoComplete="off"
          maxLength={100}
          required
          defaultValue={team?.name}
          error={fieldErrors(saving.error).name}
        />
      </Form>
    </Dialog>
  )
}

/** The members, with a button to remove each, and a search for others. Each change takes effect at once. */
function MembersDialog({ team: { id, name }, onClose }: DialogProps) {
  const { data: teams = [] } = useQuery(teamsQuery)
  const [search, setSearch] = useState('')
  const q = useSettled(search.trim())
  const found = useQuery({ ...peopleQuery({ q, limit: 20 }), enabled: q !== '' })
  const change = useSetTeamMember(id)
  const members = teams.find((team) => team.id === id)?.members ?? []
  const known = new Set(members.map((member) => member.user_id))
  const others = (found.data?.items ?? []).flatMap(({ user_id: userId, ...other }) =>
    userId === null || known.has(userId) ? [] : [{ ...other, userId }],
  )
  return (
    <Dialog onClose={onClose} title={words.membersOf(name)}>
      {/* A search is no change that closing would lose. */}
      <div className="grid gap-4" onInput={(event) => event.stopPropagation()}>
        {members.length === 0 && <p className="text-muted">{words.noMembers}</p>}
        <ul className="grid gap-1">
          {members.map(({ user_id: userId, name: memberName, email }) => (
            <Person key={userId} name={memberName} email={email}>
              <Button
                variant="quiet"
                size="tiny"
                aria-label={words.leaveNamed(memberName)}
                onClick={() => change.mutate({ userId, belongs: false })}
              >
                {words.leave}
              </Button>
            </Person>
          ))}
        </ul>
        <SearchInput label={words.search} value={search} onChange={setSearch} />
        <ul className="grid gap-1">
          {others.map(({ userId, name: memberName, email }) => (
            <Person key={userId} name={memberName ?? email} email={email}>
              <Button
                variant="quiet"
                size="tiny"
                aria-label={words.joinNamed(memberName ?? email)}
                onClick={() => change.mutate({ userId, belongs: true })}
              >
                {words.join}
              </Button>
            </Person>
          ))}
        </ul>
        {change.error && <ErrorMessage error={change.error} />}
      </div>
    </Dialog>
  )
}

function Person({ name, email, children }: { name: string; email: string; children: ReactNode }) {
  return (
    <li className="flex items-center justify-between gap-3">
      <span className="min-w-0">
        <span className="block truncate font-medium">{name}</span>
        <span className="block truncate text-[0.8125rem] text-muted">{email}</span>
      </span>
      {children}
    </li>
  )
}

function DeleteDialog({ team, onClose }: DialogProps) {
  const deletion = useDeleteTeam()
  return (
    <ConfirmDialog
      onClose={onClose}
      title={words.removeTitle(team.name)}
      description={words.removeDescription}
      confirmLabel={words.remove}
      dangerous
      busy={deletion.isPending}
      error={deletion.error}
      onConfirm={() => deletion.mutate(team.id, { onSuccess: onClose })}
    />
  )
}
