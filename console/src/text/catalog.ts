export const catalog = {
  deploy: 'Deploy',
  deployTitle: (model: string) => `Deploy ${model}`,
}
