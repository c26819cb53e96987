// Owns which member of a group reads which partition: round robin in the order in which the members
// joined. Pure.

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

interface Reader {
  readonly topics: readonly string[];
}

/** One member per partition, or null where nobody reads the topic. In the order of `partitions`. */
export function assign<M extends Reader>(members: readonly M[], partitions: readonly TopicPartition[]): (M | null)[] {
  return partitions.map(({ topic }, index) => {
    const readers = members.filter((member) => member.topics.includes(topic));
    return readers[index % readers.length] ?? null;
  });
}
