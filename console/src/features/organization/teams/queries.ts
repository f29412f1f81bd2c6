import { useMutation, useQueryClient } from '@tanstack/react-query'
import { callApi } from '../../../api/client.ts'
import { teamsQuery } from '../../../domain/teams/queries.ts'

const memberPath = '/v1/organization/teams/{team_id}/members/{user_id}'

function useReloadTeams() {
  const queryClient = useQueryClient()
  return () => queryClient.invalidateQueries({ queryKey: teamsQuery.queryKey })
}

/** Creates a team, or renames the one with an id. */
export function useSaveTeam() {
  const reload = useReloadTeams()
  return useMutation({
    mutationFn: ({ id, name }: { id: number | null; name: string }) =>
      id === null
        ? callApi('POST', '/v1/organization/teams', { body: { name } })
        : callApi('PATCH', '/v1/organization/teams/{team_id}', { path: { team_id: id }, body: { name } }),
    onSettled: () => void reload(),
  })
}

export function useDeleteTeam() {
  const reload = useReloadTeams()
  return useMutation({
    mutationFn: (id: number) =>
      callApi('DELETE', '/v1/organization/teams/{team_id}', { path: { team_id: id } }),
    onSettled: () => void reload(),
  })
}

/** Adds a member to a team, or takes one out. */
export function useSetTeamMember(id: number) {
  const reload = useReloadTeams()
  return useMutation({
    mutationFn: ({ userId, belongs }: { userId: number; belongs: boolean }) => {
      const input = { path: { team_id: id, user_id: userId } }
      return belongs ? callApi('PUT', memberPath, input) : callApi('DELETE', memberPath, input)
    },
    onSettled: () => reload(),
  })
}
