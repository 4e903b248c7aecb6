"""The shape of upstream's internal pod types: names and order of their fields.

Error messages print values of these types, and differences between them, as JSON of the internal type; two specs are equal
where their internal forms are. One line a type (indented lines continue it): `Name[=jsonName][:kind]`, where a kind is
`*` for a pointer, `[]` for a list, `{}` for a map, `+Type` for an embedded struct; no kind means a string.
"""

FIELDS = """
PodSpec Volumes:[]Volume InitContainers:[]Container Containers:[]Container EphemeralContainers:[]EphemeralContainer
  RestartPolicy TerminationGracePeriodSeconds:*int ActiveDeadlineSeconds:*int DNSPolicy=dnsPolicy
  NodeSelector:{}string ServiceAccountName AutomountServiceAccountToken:*bool NodeName
  SecurityContext:*PodSecurityContext ImagePullSecrets:[]LocalObjectReference Hostname Subdomain
  SetHostnameAsFQDN:*bool Affinity:*Affinity SchedulerName Tolerations:[]Toleration HostAliases:[]HostAlias
  PriorityClassName Priority:*int PreemptionPolicy:*string DNSConfig=dnsConfig:*PodDNSConfig
  ReadinessGates:[]PodReadinessGate RuntimeClassName:*string Overhead:{}Quantity EnableServiceLinks:*bool
  TopologySpreadConstraints:[]TopologySpreadConstraint OS=os:*PodOS SchedulingGates:[]PodSchedulingGate
  ResourceClaims:[]PodResourceClaim Resources:*ResourceRequirements HostnameOverride:*string
  SchedulingGroup:*PodSchedulingGroup
EphemeralContainer +EphemeralContainerCommon TargetContainerName
PodIP IP=ip
HostIP IP=ip
Volume Name +VolumeSource
Container Name Image Command:[]string Args:[]string WorkingDir Ports:[]ContainerPort EnvFrom:[]EnvFromSource
  Env:[]EnvVar Resources:ResourceRequirements ResizePolicy:[]ContainerResizePolicy RestartPolicy:*string
  RestartPolicyRules:[]ContainerRestartRule VolumeMounts:[]VolumeMount VolumeDevices:[]VolumeDevice
  LivenessProbe:*Probe ReadinessProbe:*Probe StartupProbe:*Probe Lifecycle:*Lifecycle TerminationMessagePath
  TerminationMessagePolicy ImagePullPolicy SecurityContext:*SecurityContext Stdin:bool StdinOnce:bool TTY=tty:bool
PodSecurityContext HostNetwork:bool HostPID:bool HostIPC:bool ShareProcessNamespace:*bool HostUsers:*bool
  SELinuxOptions=seLinuxOptions:*SELinuxOptions WindowsOptions:*WindowsSecurityContextOptions RunAsUser:*int
  RunAsGroup:*int RunAsNonRoot:*bool SupplementalGroups:[]int SupplementalGroupsPolicy:*string FSGroup=fsGroup:*int
  FSGroupChangePolicy=fsGroupChangePolicy:*string Sysctls:[]Sysctl SeccompProfile:*SeccompProfile
  AppArmorProfile:*AppArmorProfile SELinuxChangePolicy=seLinuxChangePolicy:*string
LocalObjectReference Name
Affinity NodeAffinity:*NodeAffinity PodAffinity:*PodAffinity PodAntiAffinity:*PodAntiAffinity
Toleration Key Operator Value Effect TolerationSeconds:*int
HostAlias IP=ip Hostnames:[]string
PodDNSConfig Nameservers:[]string Searches:[]string Options:[]PodDNSConfigOption
PodReadinessGate ConditionType
TopologySpreadConstraint MaxSkew:int TopologyKey WhenUnsatisfiable LabelSelector:*Selector MinDomains:*int
  NodeAffinityPolicy:*string NodeTaintsPolicy:*string MatchLabelKeys:[]string
PodOS Name
PodSchedulingGate Name
PodResourceClaim Name ResourceClaimName:*string ResourceClaimTemplateName:*string
ResourceRequirements Limits:{}Quantity Requests:{}Quantity Claims:[]ResourceClaim
PodSchedulingGroup PodGroupName:*string
EphemeralContainerCommon Name Image Command:[]string Args:[]string WorkingDir Ports:[]ContainerPort
  EnvFrom:[]EnvFromSource Env:[]EnvVar Resources:ResourceRequirements ResizePolicy:[]ContainerResizePolicy
  RestartPolicy:*string RestartPolicyRules:[]ContainerRestartRule VolumeMounts:[]VolumeMount
  VolumeDevices:[]VolumeDevice LivenessProbe:*Probe ReadinessProbe:*Probe StartupProbe:*Probe Lifecycle:*Lifecycle
  TerminationMessagePath TerminationMessagePolicy ImagePullPolicy SecurityContext:*SecurityContext Stdin:bool
  StdinOnce:bool TTY=tty:bool
VolumeSource HostPath:*HostPathVolumeSource EmptyDir:*EmptyDirVolumeSource
  GCEPersistentDisk=gcePersistentDisk:*GCEPersistentDiskVolumeSource
  AWSElasticBlockStore=awsElasticBlockStore:*AWSElasticBlockStoreVolumeSource GitRepo:*GitRepoVolumeSource
  Secret:*SecretVolumeSource NFS=nfs:*NFSVolumeSource ISCSI=iscsi:*ISCSIVolumeSource Glusterfs:*GlusterfsVolumeSource
  PersistentVolumeClaim:*PersistentVolumeClaimVolumeSource RBD=rbd:*RBDVolumeSource Quobyte:*QuobyteVolumeSource
  FlexVolume:*FlexVolumeSource Cinder:*CinderVolumeSource CephFS=cephfs:*CephFSVolumeSource
  Flocker:*FlockerVolumeSource DownwardAPI:*DownwardAPIVolumeSource FC=fc:*FCVolumeSource
  AzureFile:*AzureFileVolumeSource ConfigMap:*ConfigMapVolumeSource VsphereVolume:*VsphereVirtualDiskVolumeSource
  AzureDisk:*AzureDiskVolumeSource PhotonPersistentDisk:*PhotonPersistentDiskVolumeSource
  Projected:*ProjectedVolumeSource PortworxVolume:*PortworxVolumeSource ScaleIO:*ScaleIOVolumeSource
  StorageOS=storageos:*StorageOSVolumeSource CSI=csi:*CSIVolumeSource Ephemeral:*EphemeralVolumeSource
  Image:*ImageVolumeSource
ContainerPort Name HostPort:int ContainerPort:int Protocol HostIP
EnvFromSource Prefix ConfigMapRef:*ConfigMapEnvSource SecretRef:*SecretEnvSource
EnvVar Name Value ValueFrom:*EnvVarSource
ContainerResizePolicy ResourceName RestartPolicy
ContainerRestartRule Action ExitCodes:*ContainerRestartRuleOnExitCodes
VolumeMount Name ReadOnly:bool RecursiveReadOnly:*string MountPath SubPath MountPropagation:*string SubPathExpr
VolumeDevice Name DevicePath
Probe +ProbeHandler InitialDelaySeconds:int TimeoutSeconds:int PeriodSeconds:int SuccessThreshold:int
  FailureThreshold:int TerminationGracePeriodSeconds:*int
Lifecycle PostStart:*LifecycleHandler PreStop:*LifecycleHandler StopSignal:*string
SecurityContext Capabilities:*Capabilities Privileged:*bool SELinuxOptions=seLinuxOptions:*SELinuxOptions
  WindowsOptions:*WindowsSecurityContextOptions RunAsUser:*int RunAsGroup:*int RunAsNonRoot:*bool
  ReadOnlyRootFilesystem:*bool AllowPrivilegeEscalation:*bool ProcMount:*string SeccompProfile:*SeccompProfile
  AppArmorProfile:*AppArmorProfile
SELinuxOptions User Role Type Level
WindowsSecurityContextOptions GMSACredentialSpecName=gmsaCredentialSpecName:*string
  GMSACredentialSpec=gmsaCredentialSpec:*string RunAsUserName:*string HostProcess:*bool
Sysctl Name Value
SeccompProfile Type LocalhostProfile:*string
AppArmorProfile Type LocalhostProfile:*string
NodeAffinity RequiredDuringSchedulingIgnoredDuringExecution:*NodeSelector
  PreferredDuringSchedulingIgnoredDuringExecution:[]PreferredSchedulingTerm
PodAffinity RequiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm
  PreferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm
PodAntiAffinity RequiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm
  PreferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm
PodDNSConfigOption Name Value:*string
ResourceClaim Name Request
HostPathVolumeSource Path Type:*string
EmptyDirVolumeSource Medium SizeLimit:*Quantity
GCEPersistentDiskVolumeSource PDName=pdName FSType=fsType Partition:int ReadOnly:bool
AWSElasticBlockStoreVolumeSource VolumeID FSType=fsType Partition:int ReadOnly:bool
GitRepoVolumeSource Repository Revision Directory
SecretVolumeSource SecretName Items:[]KeyToPath DefaultMode:*int Optional:*bool
NFSVolumeSource Server Path ReadOnly:bool
ISCSIVolumeSource TargetPortal IQN=iqn Lun:int ISCSIInterface=iscsiInterface FSType=fsType ReadOnly:bool
  Portals:[]string DiscoveryCHAPAuth=chapAuthDiscovery:bool SessionCHAPAuth=chapAuthSession:bool
  SecretRef:*LocalObjectReference InitiatorName:*string
GlusterfsVolumeSource EndpointsName=endpoints Path ReadOnly:bool
PersistentVolumeClaimVolumeSource ClaimName ReadOnly:bool
RBDVolumeSource CephMonitors=monitors:[]string RBDImage=image FSType=fsType RBDPool=pool RadosUser=user Keyring
  SecretRef:*LocalObjectReference ReadOnly:bool
QuobyteVolumeSource Registry Volume ReadOnly:bool User Group Tenant
FlexVolumeSource Driver FSType=fsType SecretRef:*LocalObjectReference ReadOnly:bool Options:{}string
CinderVolumeSource VolumeID FSType=fsType ReadOnly:bool SecretRef:*LocalObjectReference
CephFSVolumeSource Monitors:[]string Path User SecretFile SecretRef:*LocalObjectReference ReadOnly:bool
FlockerVolumeSource DatasetName DatasetUUID
DownwardAPIVolumeSource Items:[]DownwardAPIVolumeFile DefaultMode:*int
FCVolumeSource TargetWWNs:[]string Lun:*int FSType=fsType ReadOnly:bool WWIDs=wwids:[]string
AzureFileVolumeSource SecretName ShareName ReadOnly:bool
ConfigMapVolumeSource +LocalObjectReference Items:[]KeyToPath DefaultMode:*int Optional:*bool
VsphereVirtualDiskVolumeSource VolumePath FSType=fsType StoragePolicyName StoragePolicyID
AzureDiskVolumeSource DiskName DataDiskURI=diskURI CachingMode:*string FSType=fsType:*string ReadOnly:*bool
  Kind:*string
PhotonPersistentDiskVolumeSource PdID FSType=fsType
ProjectedVolumeSource Sources:[]VolumeProjection DefaultMode:*int
PortworxVolumeSource VolumeID FSType=fsType ReadOnly:bool
ScaleIOVolumeSource Gateway System SecretRef:*LocalObjectReference SSLEnabled=sslEnabled:bool ProtectionDomain
  StoragePool StorageMode VolumeName FSType=fsType ReadOnly:bool
StorageOSVolumeSource VolumeName VolumeNamespace FSType=fsType ReadOnly:bool SecretRef:*LocalObjectReference
CSIVolumeSource Driver ReadOnly:*bool FSType=fsType:*string VolumeAttributes:{}string
  NodePublishSecretRef:*LocalObjectReference
EphemeralVolumeSource VolumeClaimTemplate:*PersistentVolumeClaimTemplate
ImageVolumeSource Reference PullPolicy
ConfigMapEnvSource +LocalObjectReference Optional:*bool
SecretEnvSource +LocalObjectReference Optional:*bool
EnvVarSource FieldRef:*ObjectFieldSelector ResourceFieldRef:*ResourceFieldSelector
  ConfigMapKeyRef:*ConfigMapKeySelector SecretKeyRef:*SecretKeySelector FileKeyRef:*FileKeySelector
ContainerRestartRuleOnExitCodes Operator Values:[]int
ProbeHandler Exec:*ExecAction HTTPGet=httpGet:*HTTPGetAction TCPSocket=tcpSocket:*TCPSocketAction
  GRPC=grpc:*GRPCAction
LifecycleHandler Exec:*ExecAction HTTPGet=httpGet:*HTTPGetAction TCPSocket=tcpSocket:*TCPSocketAction
  Sleep:*SleepAction
Capabilities Add:[]string Drop:[]string
NodeSelector NodeSelectorTerms:[]NodeSelectorTerm
PreferredSchedulingTerm Weight:int Preference:NodeSelectorTerm
PodAffinityTerm LabelSelector:*Selector Namespaces:[]string TopologyKey NamespaceSelector:*Selector
  MatchLabelKeys:[]string MismatchLabelKeys:[]string
WeightedPodAffinityTerm Weight:int PodAffinityTerm:PodAffinityTerm
KeyToPath Key Path Mode:*int
DownwardAPIVolumeFile Path FieldRef:*ObjectFieldSelector ResourceFieldRef:*ResourceFieldSelector Mode:*int
VolumeProjection Secret:*SecretProjection DownwardAPI:*DownwardAPIProjection ConfigMap:*ConfigMapProjection
  ServiceAccountToken:*ServiceAccountTokenProjection ClusterTrustBundle:*ClusterTrustBundleProjection
  PodCertificate:*PodCertificateProjection
PersistentVolumeClaimTemplate +ObjectMeta Spec:PersistentVolumeClaimSpec
ObjectFieldSelector APIVersion=apiVersion FieldPath
ResourceFieldSelector ContainerName Resource Divisor:Quantity
ConfigMapKeySelector +LocalObjectReference Key Optional:*bool
SecretKeySelector +LocalObjectReference Key Optional:*bool
FileKeySelector VolumeName Path Key Optional:*bool
ExecAction Command:[]string
HTTPGetAction Path Port:IntOrString Host Scheme HTTPHeaders=httpHeaders:[]HTTPHeader
TCPSocketAction Port:IntOrString Host
GRPCAction Port:int Service:*string
SleepAction Seconds:int
NodeSelectorTerm MatchExpressions:[]NodeSelectorRequirement MatchFields:[]NodeSelectorRequirement
SecretProjection +LocalObjectReference Items:[]KeyToPath Optional:*bool
DownwardAPIProjection Items:[]DownwardAPIVolumeFile
ConfigMapProjection +LocalObjectReference Items:[]KeyToPath Optional:*bool
ServiceAccountTokenProjection Audience ExpirationSeconds:int Path
ClusterTrustBundleProjection Name:*string SignerName:*string LabelSelector:*Selector Optional:*bool Path
PodCertificateProjection SignerName KeyType MaxExpirationSeconds:*int CredentialBundlePath KeyPath
  CertificateChainPath UserAnnotations:{}string
PersistentVolumeClaimSpec AccessModes:[]string Selector:*Selector Resources:VolumeResourceRequirements VolumeName
  StorageClassName:*string VolumeMode:*string DataSource:*TypedLocalObjectReference
  DataSourceRef:*TypedObjectReference VolumeAttributesClassName:*string
HTTPHeader Name Value
NodeSelectorRequirement Key Operator Values:[]string
VolumeResourceRequirements Limits:{}Quantity Requests:{}Quantity
TypedLocalObjectReference APIGroup=apiGroup:*string Kind Name
TypedObjectReference APIGroup=apiGroup:*string Kind Name Namespace:*string
PersistentVolumeSource GCEPersistentDisk=gcePersistentDisk:*GCEPersistentDiskVolumeSource
  AWSElasticBlockStore=awsElasticBlockStore:*AWSElasticBlockStoreVolumeSource HostPath:*HostPathVolumeSource
  Glusterfs:*GlusterfsPersistentVolumeSource NFS=nfs:*NFSVolumeSource RBD=rbd:*RBDPersistentVolumeSource
  Quobyte:*QuobyteVolumeSource ISCSI=iscsi:*ISCSIPersistentVolumeSource FlexVolume:*FlexPersistentVolumeSource
  Cinder:*CinderPersistentVolumeSource CephFS=cephfs:*CephFSPersistentVolumeSource FC=fc:*FCVolumeSource
  Flocker:*FlockerVolumeSource AzureFile:*AzureFilePersistentVolumeSource
  VsphereVolume:*VsphereVirtualDiskVolumeSource AzureDisk:*AzureDiskVolumeSource
  PhotonPersistentDisk:*PhotonPersistentDiskVolumeSource PortworxVolume:*PortworxVolumeSource
  ScaleIO=scaleIO:*ScaleIOPersistentVolumeSource Local:*LocalVolumeSource
  StorageOS=storageos:*StorageOSPersistentVolumeSource CSI=csi:*CSIPersistentVolumeSource
GlusterfsPersistentVolumeSource EndpointsName=endpoints Path ReadOnly:bool EndpointsNamespace:*string
RBDPersistentVolumeSource CephMonitors=monitors:[]string RBDImage=image FSType=fsType RBDPool=pool RadosUser=user Keyring
  SecretRef:*SecretReference ReadOnly:bool
ISCSIPersistentVolumeSource TargetPortal IQN=iqn Lun:int ISCSIInterface=iscsiInterface FSType=fsType ReadOnly:bool
  Portals:[]string DiscoveryCHAPAuth=chapAuthDiscovery:bool SessionCHAPAuth=chapAuthSession:bool
  SecretRef:*SecretReference InitiatorName:*string
FlexPersistentVolumeSource Driver FSType=fsType SecretRef:*SecretReference ReadOnly:bool Options:{}string
CinderPersistentVolumeSource VolumeID FSType=fsType ReadOnly:bool SecretRef:*SecretReference
CephFSPersistentVolumeSource Monitors:[]string Path User SecretFile SecretRef:*SecretReference ReadOnly:bool
AzureFilePersistentVolumeSource SecretName ShareName ReadOnly:bool SecretNamespace:*string
ScaleIOPersistentVolumeSource Gateway System SecretRef:*SecretReference SSLEnabled=sslEnabled:bool ProtectionDomain
  StoragePool StorageMode VolumeName FSType=fsType ReadOnly:bool
LocalVolumeSource Path FSType=fsType:*string
StorageOSPersistentVolumeSource VolumeName VolumeNamespace FSType=fsType ReadOnly:bool SecretRef:*ObjectReference
CSIPersistentVolumeSource Driver VolumeHandle ReadOnly:bool FSType=fsType VolumeAttributes:{}string
  ControllerPublishSecretRef:*SecretReference NodeStageSecretRef:*SecretReference
  NodePublishSecretRef:*SecretReference ControllerExpandSecretRef:*SecretReference
  NodeExpandSecretRef:*SecretReference
SecretReference Name Namespace
ObjectReference Kind Namespace Name UID=uid APIVersion=apiVersion ResourceVersion FieldPath
EventSource Component Host
VolumeNodeAffinity Required:*NodeSelector
"""
