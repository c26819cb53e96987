// Owns how the local Kafka is set up: its properties, its log, its Java machine.
//
// 1. One node that is broker and controller, on the loopback alone, for a few processes of one
//    machine. Every topic has one replica.
// 2. Topics say themselves how many partitions they have and what is kept; none appears because
//    somebody misspelled its name.
// 3. What is thrown away, is thrown away soon: tests and demos make compaction and retention
//    happen by a topic's own settings.

import { join } from "node:path";

export interface Ports {
  readonly broker: number;
  readonly controller: number;
}

const NODE_ID = 1;

/** Text of `server.properties`; `data` is the log folder. */
export function serverProperties(data: string, ports: Ports): string {
  const settings: Readonly<Record<string, string | number>> = {
    "process.roles": "broker,controller", // (1)
    "node.id": NODE_ID,
    "controller.quorum.voters": `${NODE_ID}@127.0.0.1:${ports.controller}`,
    listeners: `BROKER://127.0.0.1:${ports.broker},CONTROLLER://127.0.0.1:${ports.controller}`,
    "advertised.listeners": `BROKER://127.0.0.1:${ports.broker}`,
    "listener.security.protocol.map": "BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "BROKER",
    "controller.listener.names": "CONTROLLER",
    "log.dir": data,

    "num.partitions": 4,
    "default.replication.factor": 1,
    "min.insync.replicas": 1,
    "auto.create.topics.enable": "false", // (2)
    "offsets.topic.num.partitions": 4,
    "offsets.topic.replication.factor": 1,
    "transaction.state.log.num.partitions": 4,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "share.coordinator.state.topic.num.partitions": 4,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,

    "broker.heartbeat.interval.ms": 500,
    "broker.session.timeout.ms": 3_000, // so long a server waits for its killed predecessor to be forgotten

    "group.initial.rebalance.delay.ms": 0,
    "message.max.bytes": 1_572_864, // records of 1 MB and what is around them
    "replica.fetch.max.bytes": 1_572_864,

    "log.cleaner.backoff.ms": 250, // (3)
    "log.cleaner.dedupe.buffer.size": 8_388_608,
    "log.retention.check.interval.ms": 1_000,
    "log.initial.task.delay.ms": 1_000,
    "log.segment.delete.delay.ms": 1_000,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${escaped(String(value))}`);
  return `${lines.join("\n")}\n`;
}

/** Java reads properties as Latin-1, with a backslash before what is special. */
function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replace(/[^\x20-\x7e]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The ports that a text of `serverProperties` names; null where there is none. */
export function portsOf(properties: string): Ports | null {
  const [, broker, controller] = /^listeners=BROKER:\/\/127\.0\.0\.1:(\d+),CONTROLLER:\/\/127\.0\.0\.1:(\d+)$/m.exec(properties) ?? [];
  return broker === undefined || controller === undefined ? null : { broker: Number(broker), controller: Number(controller) };
}

/** Text of a Log4j 2 configuration: warnings and errors into `kafka.log` of the working folder, at most twice 4 MB. */
export function logProperties(): string {
  return [
    "appender.file.type=RollingFile",
    "appender.file.name=file",
    "appender.file.fileName=kafka.log",
    "appender.file.filePattern=kafka.log.%i",
    "appender.file.layout.type=PatternLayout",
    "appender.file.layout.pattern=%d{ISO8601} %p %c{1} - %m%n%ex{20}",
    "appender.file.policies.type=Policies",
    "appender.file.policies.size.type=SizeBasedTriggeringPolicy",
    "appender.file.policies.size.size=4MB",
    "appender.file.strategy.type=DefaultRolloverStrategy",
    "appender.file.strategy.max=1",
    "rootLogger.level=warn",
    "rootLogger.appenderRef.file.ref=file",
    "",
  ].join("\n");
}

/** What every Java program of ours gets; `tmp` is where it unpacks native libraries. */
export function javaOptions(libFolder: string, tmp: string): string[] {
  return ["-XX:+UseSerialGC", "-XX:-UsePerfData", `-Djava.io.tmpdir=${tmp}`, "-Djava.net.preferIPv4Stack=true", "-Djava.awt.headless=true", "-cp", join(libFolder, "*")];
}

/** What the server gets besides. The compiler stays whole: with its first tier alone every hop takes longer. */
export function serverJavaOptions(): string[] {
  return ["-Xmx512m", "-XX:+ExitOnOutOfMemoryError", "-XX:ErrorFile=java-error.log", "-Dlog4j2.configurationFile=log4j2.properties"];
}
